package main

import (
	"bytes"
	"context"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
)

// watchList shows the list every second. Ctrl-C ends it as it ends any program: the screen needs no tidying.
func (p *program) watchList(ctx context.Context, st *stores.Stores, o listOptions) error {
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
		runs, err := st.Runner.List(ctx, filter)
		if err != nil {
			return err
		}
		var list bytes.Buffer
		if err := listTable(ctx, &list, runs, st); err != nil {
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
