package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newRemoveCommand(p *command.Program) *cli.Command {
	var printed bool
	return &cli.Command{
		Name:      "rm",
		Usage:     "remove runs that have ended, their rows and kept directories",
		UsageText: "scidex-oci rm ID... [--json]",
		ArgsUsage: "ID...",
		Description: `ID is the last attempt, ID@1 the first, @last the newest run; a prefix of an id is refused. All names are looked up before anything is removed. A pinned run is
refused; see unpin. Blobs that no run names any longer are removed by gc.`,
		Flags: options.List(options.Bool(&printed, "json", "print each removed run as ls --json does")),
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, -1)
			if err != nil {
				return err
			}
			return p.WithTidyStores(c, func(st *stores.Stores) error { return runRemove(c.Context, p, st, given, printed) })
		},
	}
}

func runRemove(ctx context.Context, p *command.Program, st *stores.Stores, given []string, printed bool) error {
	var runs []catalog.Run
	for _, name := range given {
		run, err := watch.FindWhole(ctx, st.Host, name)
		if err != nil {
			return err
		}
		if !run.State.Final() {
			return fmt.Errorf("run %q is %s; stop it first, or run \"scidex-oci gc\" if it was killed", run.Key, run.State)
		}
		if run.Pinned {
			return recovery.Pinned(run.Key)
		}
		if !slices.ContainsFunc(runs, func(other catalog.Run) bool { return other.Key == run.Key }) {
			runs = append(runs, run)
		}
	}
	var all error
	for _, run := range runs {
		err := recovery.Remove(ctx, st.Host, run.Key)
		switch {
		case err != nil:
			all = errors.Join(all, fmt.Errorf("remove %q: %w", run.Key, err))
		case printed:
			all = errors.Join(all, screen.WriteJSON(p.Stdout, results.NewListed(run)))
		default:
			p.Tell("removed run %s", run.Key)
		}
	}
	return all
}
