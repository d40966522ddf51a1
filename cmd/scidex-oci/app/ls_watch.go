package app

import (
	"bytes"
	"context"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// watchList shows the list every second. Ctrl-C ends it as any program: the screen needs no cleanup.
func watchList(ctx context.Context, p *command.Program, st *stores.Stores, o listOptions) error {
	if o.json || o.quiet {
		return command.Usagef("--watch shows a table; leave --json and --quiet out")
	}
	if !screen.IsTerminal(p.Stdout.File) {
		return command.Usagef("--watch needs a terminal as standard output; leave it out, or wait for a run with \"scidex-oci show ID --wait\"")
	}
	for clear := "\x1b[2J"; ; clear = "" {
		filter, err := o.filter.At(time.Now())
		if err != nil {
			return err
		}
		runs, err := watch.List(ctx, st.Host, filter)
		if err != nil {
			return err
		}
		var list bytes.Buffer
		if err := listTable(ctx, &list, screen.Width(p.Stdout.File), runs, st); err != nil {
			return err
		}
		if _, err := p.Stdout.WriteString(clear + screen.Frame(list.String(), p.Stdout.File)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
