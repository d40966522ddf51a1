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

func newShowCommand(p *command.Program) *cli.Command {
	o := &showOptions{}
	return &cli.Command{
		Name:      "show",
		Usage:     "show the result of a run",
		UsageText: "scidex-oci show ID [--json] [--wait]",
		ArgsUsage: "ID",
		Description: `The exit code is 0 however the run has ended, with --wait too: the result has its own. --wait ends with 125 if the
run's scidex-oci was killed, so that it will never end.`,
		Flags: o.flags(),
		Action: p.ForOne(func(ctx context.Context, st *stores.Stores, given string) error {
			return runShow(ctx, p, st, *o, given)
		}),
	}
}

// showOptions are the options of show.
type showOptions struct {
	json, wait bool
}

func (o *showOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.json, "json", "print the result as run --json does"),
		options.Bool(&o.wait, "wait", "wait first until the run has ended"),
	)
}

func runShow(ctx context.Context, p *command.Program, st *stores.Stores, o showOptions, name string) error {
	run, err := watch.Find(ctx, st.Host, name)
	if err == nil && o.wait {
		run, err = watch.Await(ctx, st.Host, run.Key)
	}
	if err != nil {
		return err
	}
	if o.json {
		result, err := watch.Show(ctx, st.Host, run)
		if err != nil {
			return err
		}
		return screen.WriteJSON(p.Stdout, result)
	}
	result, err := watch.Summary(ctx, st.Host, run, results.MaxEntries)
	if err != nil {
		return err
	}
	attempts, err := watch.List(ctx, st.Host, catalog.Filter{ID: run.ID})
	if err != nil {
		return err
	}
	t := results.Table{Table: screen.NewTable(p.Stdout, p.Stdout.File, p.Env), Program: p.CallLine()}
	t.Show(result, attempts)
	return nil
}
