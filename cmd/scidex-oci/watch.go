package main

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner"
)

// life says of a run that has not ended whether it lives, and since when. "running (dead)" is one that gc has to
// record; of other hosts and roots nothing is known here but where they are.
func (h *stores) life(ctx context.Context, run catalog.Run) (state, wall string) {
	state, wall = string(run.State), screen.Clock(time.Since(run.CreatedAt).Milliseconds())
	if run.State == catalog.Queued { // it is nowhere yet
		return state, wall
	}
	live, err := h.runner.Attach(run)
	var elsewhere *runner.ElsewhereError
	switch {
	case err == nil:
		_ = live.Close() // nothing was done with it
	case errors.Is(err, runner.ErrDead):
		if now, err := h.catalog.Get(ctx, run.Key); err == nil && now.State.Final() { // it has just ended
			return string(now.State), screen.Duration(usageOf(now).WallMS)
		}
		return state + " (dead)", ""
	case errors.As(err, &elsewhere):
		state += " (on " + run.Host + ")"
	}
	return state, wall
}

// watchList shows the list every second. Ctrl-C ends it as it ends any program: the screen needs no tidying.
func (p *program) watchList(ctx context.Context, h *stores, o listOptions) error {
	if o.json || o.quiet {
		return usagef("--watch shows a table; leave --json and --quiet out")
	}
	if !screen.IsTerminal(p.stdout.File) {
		return usagef("--watch needs a terminal as standard output; leave it out, or wait for a run with \"scidex-oci show ID --wait\"")
	}
	for clear := "\x1b[2J"; ; clear = "" {
		filter, err := o.filter.At(time.Now())
		if err != nil {
			return err
		}
		runs, err := h.runner.List(ctx, filter)
		if err != nil {
			return err
		}
		var list bytes.Buffer
		if err := listTable(ctx, &list, runs, h); err != nil {
			return err
		}
		if _, err := p.stdout.WriteString(clear + screen.Frame(list.String(), p.stdout.File)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
