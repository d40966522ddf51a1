package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newStopCommand(p *command.Program) *cli.Command {
	o := &stopOptions{}
	return &cli.Command{
		Name:      "stop",
		Usage:     "end runs that go on, as SIGTERM to their run command does",
		UsageText: "scidex-oci stop ID... [--now] [--json]",
		ArgsUsage: "ID...",
		Description: `Waits until each has ended, harvested and committed, and prints its result: canceled, stopped, exit code 143,
unless it ended by itself meanwhile. A second stop cuts the grace period of the first. A prefix of an id is
refused. All names are looked up before anything is stopped. A run is stopped by its owner, on its host and with the --root that it was started with.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, -1)
			if err != nil {
				return err
			}
			return p.WithStores(c, func(st *stores.Stores) error {
				defer recovery.Tidy(c.Context, st.Host) // afterwards: stopping is urgent
				return runStop(c.Context, p, st, *o, given)
			})
		},
	}
}

// stopOptions are the options of stop.
type stopOptions struct {
	now, json bool
}

func (o *stopOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.now, "now", "leave no grace period: SIGKILL at once"),
		options.Bool(&o.json, "json", "print each result as run --json does, one a line"),
	)
}

func runStop(ctx context.Context, p *command.Program, st *stores.Stores, o stopOptions, given []string) error {
	runs := map[catalog.Key]catalog.Run{}
	var keys []catalog.Key
	for _, name := range given {
		run, err := watch.FindWhole(ctx, st.Host, name)
		if err != nil {
			return err
		}
		if _, twice := runs[run.Key]; !twice {
			keys = append(keys, run.Key)
		}
		runs[run.Key] = run
	}
	var all error
	var stopped []catalog.Key
	for _, key := range keys { // all of them before the first is waited for
		live, err := watch.Stop(ctx, st.Host, runs[key], o.now)
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		defer live.Close() // its lock identifies us until then
		stopped = append(stopped, key)
	}
	for _, key := range stopped {
		all = errors.Join(all, tellStopped(ctx, p, st, o, key))
	}
	return all
}

// tellStopped waits for the end of a run and reports it.
func tellStopped(ctx context.Context, p *command.Program, st *stores.Stores, o stopOptions, key catalog.Key) error {
	run, err := watch.Await(ctx, st.Host, key)
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
	_, err = fmt.Fprintf(p.Stdout, "%s  %s (%d): %s\n", screen.Escape(key.String()), run.State, run.ExitCode, screen.Escape(run.Message))
	return err
}
