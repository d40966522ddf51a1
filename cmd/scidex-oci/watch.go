package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// life says of a run that has not ended whether it lives, and since when. "running (dead)" is one that gc has to
// record; of other hosts and roots nothing is known here but where they are.
func (h *stores) life(ctx context.Context, run catalog.Run) (state, wall string) {
	state, wall = string(run.State), clock(time.Since(run.CreatedAt).Milliseconds())
	if run.State == catalog.Queued { // it is nowhere yet
		return state, wall
	}
	live, err := watch.Attach(h.runner, run)
	var elsewhere *watch.ElsewhereError
	switch {
	case err == nil:
		_ = live.Close() // nothing was done with it
	case errors.Is(err, watch.ErrDead):
		if now, err := h.catalog.Get(ctx, run.Key); err == nil && now.State.Final() { // it has just ended
			return string(now.State), span(usageOf(now).WallMS)
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
	if !isTerminal(p.stdout.File) {
		return usagef("--watch needs a terminal as standard output; leave it out, or wait for a run with \"scidex-oci show ID --wait\"")
	}
	for clear := "\x1b[2J"; ; clear = "" {
		filter, err := o.filter.At(time.Now())
		if err != nil {
			return err
		}
		runs, err := watch.List(ctx, h.runner, filter)
		if err != nil {
			return err
		}
		var list bytes.Buffer
		if err := listTable(ctx, &list, runs, h); err != nil {
			return err
		}
		if _, err := p.stdout.WriteString(clear + frame(list.String(), p.stdout.File)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// frame draws lines from the corner of a terminal on and erases what was there (ECMA-48 CUP, EL, ED). What does
// not fit is cut.
func frame(text string, terminal *os.File) string {
	width, height, err := term.GetSize(int(terminal.Fd()))
	if err != nil || width < 1 || height < 2 {
		width, height = 80, 24
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, line := range lines[:min(len(lines), height-1)] {
		b.WriteString(cut(line, width) + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	return b.String()
}
