package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

func newQueueCommand(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "queue",
		Usage:       "look at the queue of submit, cancel and retry what is in it, pause it",
		UsageText:   "scidex-oci queue ls|show|cancel|retry|rescue|pause|resume",
		Subcommands: []*cli.Command{newQueueList(p), newQueueShow(p), newQueueCancel(p), newQueueRetry(p), newQueueRescue(p), newQueuePause(p), newQueueResume(p)},
	}
}

func newQueueList(p *command.Program) *cli.Command {
	o := &queueListOptions{}
	return &cli.Command{
		Name:      "ls",
		Usage:     "list what waits and runs, that submitted last first",
		UsageText: "scidex-oci queue ls [--all] [--limit N] [--json]",
		Flags:     o.flags(),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			return withQueue(p, c, func(q queue.Queue, _ *stores.Stores) error { return listQueue(c.Context, p, q, *o) })
		},
	}
}

// queueListOptions are the options of queue ls.
type queueListOptions struct {
	all, json bool
	limit     int
}

func (o *queueListOptions) flags() []cli.Flag {
	o.limit = 50
	return options.List(
		options.Bool(&o.all, "all", "what the queue is through with too; it forgets that after a day", "a"),
		options.Count(&o.limit, "limit", "at most `N`, 0 for all (default: 50)", 0),
		options.Bool(&o.json, "json", "one JSON object a line"),
	)
}

func listQueue(ctx context.Context, p *command.Program, q queue.Queue, o queueListOptions) error {
	entries, err := q.List(ctx, o.all, o.limit)
	if err != nil {
		return err
	}
	if o.json {
		for _, e := range entries {
			if err := screen.WriteJSON(p.Stdout, e); err != nil {
				return err
			}
		}
		return nil
	}
	if err := tellPaused(ctx, p, q); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(p.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "ID\tATTEMPT\tSTATE\tCLASS\tSUBMITTED\tWORKER\tERRORS\tWHY")
	for _, e := range entries {
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%s\t%d\t%s\n",
			screen.Escape(e.ID), e.Attempt, queueState(e), screen.Escape(e.Class), screen.LocalTime(e.SubmittedAt), screen.Escape(e.Worker), len(e.Errors), screen.Escape(e.Why))
	}
	return tw.Flush()
}

// queueState is the state of a job for a person.
func queueState(e queue.Entry) string {
	switch {
	case e.State == queue.Ended:
		return string(e.RunState)
	case e.Canceling:
		return e.State + " (canceling)"
	case e.NextAt != nil && time.Until(*e.NextAt) > 0:
		return fmt.Sprintf("%s (in %s)", e.State, screen.Duration(time.Until(*e.NextAt).Milliseconds()))
	}
	return e.State
}

func newQueueShow(p *command.Program) *cli.Command {
	o := &queueShowOptions{}
	return &cli.Command{
		Name:      "show",
		Usage:     "show where an analysis stands in the queue",
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
	run, err := st.Find(ctx, name)
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
	t := screen.NewTable(p.Stdout.File, p.Env)
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
