package commands

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

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
		options.Count(&o.limit, "limit", "at most `N`, 0 for all (default: 50)", 0, "n"),
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
		return fmt.Sprintf("%s (in %s)", e.State, format.Duration(time.Until(*e.NextAt).Milliseconds()))
	}
	return e.State
}
