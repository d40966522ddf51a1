package app

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newPinCommand(p *command.Program) *cli.Command {
	var printed bool
	return &cli.Command{
		Name:      "pin",
		Usage:     "keep runs from rm and from the retention of gc",
		UsageText: "scidex-oci pin ID... [--json]",
		ArgsUsage: "ID...",
		Description: `ID is the last attempt, ID@1 the first; a run that has not ended can be pinned too. All names are looked
up before anything is pinned. "scidex-oci unpin" takes it back; ls --json and show print it.`,
		Flags:  pinFlags(&printed),
		Action: func(c *cli.Context) error { return setPins(p, c, true, &printed) },
	}
}

func newUnpinCommand(p *command.Program) *cli.Command {
	var printed bool
	return &cli.Command{
		Name:      "unpin",
		Usage:     "take pins back",
		UsageText: "scidex-oci unpin ID... [--json]",
		ArgsUsage: "ID...",
		Flags:     pinFlags(&printed),
		Action:    func(c *cli.Context) error { return setPins(p, c, false, &printed) },
	}
}

func pinFlags(printed *bool) []cli.Flag {
	return options.List(options.Bool(printed, "json", "print each run as ls --json does"))
}

func setPins(p *command.Program, c *cli.Context, pinned bool, printed *bool) error {
	given, err := command.Args(c, 1, -1)
	if err != nil {
		return err
	}
	return p.WithTidyStores(c, func(st *stores.Stores) error { return runPin(c.Context, p, st, given, pinned, *printed) })
}

func runPin(ctx context.Context, p *command.Program, st *stores.Stores, given []string, pinned, printed bool) error {
	var keys []catalog.Key
	for _, name := range given {
		run, err := watch.Find(ctx, st.Host, name)
		if err != nil {
			return err
		}
		keys = append(keys, run.Key)
	}
	for _, key := range keys {
		if err := st.Catalog.Pin(ctx, key, pinned); err != nil {
			return err
		}
		if !printed {
			continue
		}
		run, err := st.Catalog.Get(ctx, key)
		if err != nil {
			return err
		}
		if err := screen.WriteJSON(p.Stdout, results.NewListed(run)); err != nil {
			return err
		}
	}
	return nil
}
