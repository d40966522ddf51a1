package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newQueueShow(p *command.Program) *cli.Command {
	o := &queueShowOptions{}
	return &cli.Command{
		Name:      "show",
		Usage:     "show the state of an analysis in the queue",
		UsageText: "scidex-oci queue show ID [--json]",
		ArgsUsage: "ID",
		Flags:     o.flags(),
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			return withQueue(p, c, func(q queue.Queue, st *stores.Stores) error {
				return showQueued(c.Context, p, q, st, *o, given[0])
			})
		},
	}
}

// queueShowOptions are the options of queue show.
type queueShowOptions struct {
	json bool
}

func (o *queueShowOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.json, "json", "print one JSON object"),
	)
}

func showQueued(ctx context.Context, p *command.Program, q queue.Queue, st *stores.Stores, o queueShowOptions, name string) error {
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return err
	}
	e, err := q.Get(ctx, run.ID)
	if err != nil {
		return notQueued(run.ID, err)
	}
	if o.json {
		return screen.WriteJSON(p.Stdout, e)
	}
	t := screen.NewTable(p.Stdout, p.Stdout.File, p.Env)
	t.Row("analysis", fmt.Sprintf("%s (attempt %d, %s)", screen.Escape(e.ID), e.Attempt, e.RunState))
	t.Row("queue", queueState(e))
	if e.Why != "" {
		t.Row("waits", screen.Escape(e.Why))
	}
	t.Row("class", fmt.Sprintf("%s, priority %d", screen.Escape(e.Class), e.Priority))
	for _, key := range slices.Sorted(maps.Keys(e.Require)) {
		t.Row("requires", screen.Escape(key+"="+e.Require[key]))
	}
	t.Row("submitted", screen.LocalTime(e.SubmittedAt))
	if e.TakenAt != nil {
		t.Row("taken", fmt.Sprintf("%s by %s", screen.LocalTime(*e.TakenAt), screen.Escape(e.Worker)))
	}
	if len(e.Errors) > 0 {
		t.Row("errors", screen.Escape(strings.Join(e.Errors, "; ")))
	}
	return nil
}

// notQueued explains why an analysis is not in the queue.
func notQueued(id string, err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return fmt.Errorf("%q was not submitted, or the queue is through with it and has forgotten it; see \"scidex-oci show\"", id)
	}
	return err
}
