package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newListCommand(p *command.Program) *cli.Command {
	o := &listOptions{}
	return &cli.Command{
		Name:      "ls",
		Usage:     "list runs, the newest first",
		UsageText: "scidex-oci ls [flags]",
		Flags:     o.flags(),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			return p.WithStores(c, func(st *stores.Stores) error { return runList(c.Context, p, st, *o) })
		},
	}
}

// listed is how many runs are listed unless a number is given.
const listed = 50

// listOptions are the options of ls.
type listOptions struct {
	filter             options.Filter
	watch, json, quiet bool
}

func (o *listOptions) flags() []cli.Flag {
	return append(options.List(o.filter.Flags(fmt.Sprintf("at most `N` runs, 0 for all (default: %d)", listed), listed)...), options.List(
		o.filter.TextFlag(),
		options.Bool(&o.watch, "watch", "on a terminal: show the list again every second, until Ctrl-C", "w"),
		options.Bool(&o.json, "json", "one JSON object a line"),
		options.Bool(&o.quiet, "quiet", "names only, for other commands: ID, or ID@ATTEMPT if that is not the last attempt", "q"),
	)...)
}

func runList(ctx context.Context, p *command.Program, st *stores.Stores, o listOptions) error {
	filter, err := o.filter.At(time.Now())
	if err != nil {
		return err
	}
	if o.watch {
		return watchList(ctx, p, st, o)
	}
	runs, err := watch.List(ctx, st.Host, filter)
	switch {
	case err != nil:
		return err
	case o.json:
		return listJSON(p.Stdout, runs)
	case o.quiet:
		return listNames(ctx, p.Stdout, st.Catalog, runs)
	}
	if err := listTable(ctx, p.Stdout, screen.Width(p.Stdout.File), runs, st); err != nil {
		return err
	}
	if len(runs) == 0 {
		fmt.Fprintln(p.Stderr, o.nothing())
	}
	if filter.Limit == listed && len(runs) == listed {
		fmt.Fprintf(p.Stderr, "scidex-oci: these are the newest %d; --limit 0 lists all\n", len(runs))
	}
	return nil
}

// nothing is the sentence that is printed instead of runs.
func (o listOptions) nothing() string {
	if o.filter.Chooses() {
		return "scidex-oci: no run matches; scidex-oci ls without flags lists the newest"
	}
	return "scidex-oci: there are no runs yet; scidex-oci run --script FILE makes one"
}

func listJSON(w io.Writer, runs []catalog.Run) error {
	for _, r := range runs {
		if err := screen.WriteJSON(w, results.NewListed(r)); err != nil {
			return err
		}
	}
	return nil
}

// listNames prints names that rm, show and others take for exactly these runs.
func listNames(ctx context.Context, w io.Writer, cat catalog.Catalog, runs []catalog.Run) error {
	for _, r := range runs {
		last, err := cat.Get(ctx, catalog.Key{ID: r.ID})
		if errors.Is(err, catalog.ErrNotFound) {
			continue // it was removed since it was listed
		}
		if err != nil {
			return err
		}
		name := r.ID
		if last.Attempt != r.Attempt {
			name = r.String()
		}
		if _, err := fmt.Fprintln(w, screen.Escape(name)); err != nil {
			return err
		}
	}
	return nil
}
