package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner"
)

func newStopCommand(p *program) *cli.Command {
	o := &stopOptions{}
	return &cli.Command{
		Name:      "stop",
		Usage:     "end runs that go on, as SIGTERM to their run command does",
		UsageText: "scidex-oci stop ID... [--now]",
		ArgsUsage: "ID...",
		Description: `Waits until each has ended, harvested and committed, and says what came of it: canceled, stopped, exit code 143,
unless it ended by itself meanwhile. A second stop cuts the grace period of the first. All names are looked up before
anything is stopped. A run is stopped by its owner, on its host and with the --root that it was started with.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			given, err := words(c, 1, -1)
			if err != nil {
				return err
			}
			return p.visit(c, func(h *stores) error {
				defer h.runner.Tidy(c.Context) // after it: whoever stops a run is in a hurry
				return runStop(c.Context, p, h, *o, given)
			})
		},
	}
}

// stopOptions are the options of stop.
type stopOptions struct {
	now bool
}

func (o *stopOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.now, "now", "leave no grace period: SIGKILL at once"),
	)
}

func runStop(ctx context.Context, p *program, h *stores, o stopOptions, given []string) error {
	runs := map[catalog.Key]catalog.Run{}
	var keys []catalog.Key
	for _, name := range given {
		run, err := h.find(ctx, name)
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
		live, err := h.stop(ctx, runs[key], o.now)
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		defer live.Close() // its sign says until then who has asked
		stopped = append(stopped, key)
	}
	for _, key := range stopped {
		all = errors.Join(all, p.tellStopped(ctx, h, key))
	}
	return all
}

// stop asks one run to end, or says why it cannot.
func (h *stores) stop(ctx context.Context, run catalog.Run, now bool) (*runner.Live, error) {
	name := run.String()
	if run.State.Final() {
		return nil, fmt.Errorf("run %q has ended already: it is %s (%s)", name, run.State, run.Reason)
	}
	live, err := h.runner.Attach(run)
	if err == nil {
		if err = live.Stop(now); err == nil {
			return live, nil
		}
		err = errors.Join(err, live.Close())
	}
	var elsewhere *runner.ElsewhereError
	switch {
	case errors.As(err, &elsewhere):
		return nil, fmt.Errorf("run %q cannot be stopped from here: %w", name, elsewhere)
	case errors.Is(err, runner.ErrDead):
		if run, err := h.catalog.Get(ctx, run.Key); err == nil && run.State.Final() {
			return h.stop(ctx, run, now)
		}
		return nil, killed(run.Key)
	}
	return nil, fmt.Errorf("stop run %q: %w", name, err)
}

// killed says of a run that is not recorded to have ended why it never will.
func killed(key catalog.Key) error {
	return fmt.Errorf("run %q does not live any more: its scidex-oci was killed; \"scidex-oci gc\" records that", key)
}

// tellStopped waits for the end of a run and says what came of it.
func (p *program) tellStopped(ctx context.Context, h *stores, key catalog.Key) error {
	run, err := h.await(ctx, key)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s  %s (%d): %s\n", screen.Escape(key.String()), run.State, run.ExitCode, screen.Escape(run.Message))
	return err
}

// await waits for the end of a run.
func (h *stores) await(ctx context.Context, key catalog.Key) (catalog.Run, error) {
	run, err := h.runner.Await(ctx, key)
	if errors.Is(err, runner.ErrDead) {
		return run, killed(key)
	}
	if err != nil {
		return run, fmt.Errorf("wait for run %q: %w", key, err)
	}
	return run, nil
}
