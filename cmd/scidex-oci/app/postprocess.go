package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newPostProcessCommand(p *command.Program) *cli.Command {
	o := &postProcessOptions{}
	return &cli.Command{
		Name:      "post-process",
		Usage:     "call the post-process command of a run again, not its analysis",
		UsageText: "scidex-oci post-process ID [--post-process COMMAND] [--again] [--json]",
		ArgsUsage: "ID",
		Description: `For a run whose post-process command has not succeeded, or whose scidex-oci was killed while it ran. The
command is that of the flag, its variable or the config file; what the catalog says of an earlier one is never
called. Its environment has SCIDEX_ANALYSIS_ID and SCIDEX_ATTEMPT, and whatever it writes should replace what it
has written for these two before. Exit code 0 if it has succeeded, else 125.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			return p.WithTidyStores(c, func(st *stores.Stores) error { return runPostProcess(c.Context, p, st, *o, given[0]) })
		},
	}
}

// postProcessOptions are the options of post-process.
type postProcessOptions struct {
	hook        options.Hook
	again, json bool
}

func (o *postProcessOptions) flags() []cli.Flag {
	return options.List(append(o.hook.Flags(),
		options.Bool(&o.again, "again", "also if it has succeeded before, or if none was called"),
		options.Bool(&o.json, "json", "print the result as run --json does"),
	)...)
}

func runPostProcess(ctx context.Context, p *command.Program, st *stores.Stores, o postProcessOptions, name string) error {
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return err
	}
	hook, err := runflags.ReadHook(o.hook, p.Env)
	if err != nil {
		return err
	}
	if hook == nil {
		return fmt.Errorf("no command to call: give --post-process COMMAND, or set it in the config file%s", results.LastHook(run.Report))
	}
	output := screen.NewStream(p.Stderr, screen.NewTerminal(p.Stderr, p.Env))
	hook.Output = output
	stop, done := command.StopSignals()
	defer done()
	result, err := deliver.PostProcess(ctx, st.Host, run.Key, *hook, o.again, stop)
	err = errors.Join(err, output.Close())
	if o.json && result.ID != "" {
		err = errors.Join(err, screen.WriteJSON(p.Stdout, result))
	}
	return err
}
