package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

func newQueueCommand(p *program) *cli.Command {
	return &cli.Command{
		Name:        "queue",
		Usage:       "look at the queue of submit and cancel what is in it",
		UsageText:   "scidex-oci queue ls|show|cancel",
		Subcommands: []*cli.Command{newQueueList(p), newQueueShow(p), newQueueCancel(p)},
	}
}

func newQueueList(p *program) *cli.Command {
	return &cli.Command{
		Name:      "ls",
		Usage:     "list what waits and runs, that submitted last first",
		UsageText: "scidex-oci queue ls [--all] [--limit N] [--json]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "what the queue is through with too; it forgets that after a day", DisableDefaultText: true},
			&cli.StringFlag{Name: "limit", Usage: "at most `N`, 0 for all (default: 50)"},
			&cli.BoolFlag{Name: "json", Usage: "one JSON object a line", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			if _, err := words(c, 0, 0); err != nil {
				return err
			}
			return p.withQueue(c, func(q queue.Queue, _ *house, from layers) error { return p.listQueue(c.Context, q, from) })
		},
	}
}

func (p *program) listQueue(ctx context.Context, q queue.Queue, from layers) error {
	all, err := from.on("all")
	if err != nil {
		return err
	}
	asJSON, err := from.on("json")
	if err != nil {
		return err
	}
	limit := 50
	if _, given := from.given("limit"); given {
		if limit, err = from.count("limit", 0); err != nil {
			return err
		}
	}
	entries, err := q.List(ctx, all, limit)
	if err != nil {
		return err
	}
	if asJSON {
		for _, e := range entries {
			if err := writeJSON(p.stdout, e); err != nil {
				return err
			}
		}
		return nil
	}
	tw := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "ID\tATTEMPT\tSTATE\tSUBMITTED\tWORKER\tERRORS")
	for _, e := range entries {
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%d\n", escape(e.ID), e.Attempt, queueState(e), localTime(e.SubmittedAt), escape(e.Worker), len(e.Errors))
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
		return fmt.Sprintf("%s (in %s)", e.State, span(time.Until(*e.NextAt).Milliseconds()))
	}
	return e.State
}

func newQueueShow(p *program) *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show where an analysis stands in the queue",
		UsageText: "scidex-oci queue show ID [--json]",
		ArgsUsage: "ID",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print one JSON object", DisableDefaultText: true}},
		Action: func(c *cli.Context) error {
			given, err := words(c, 1, 1)
			if err != nil {
				return err
			}
			return p.withQueue(c, func(q queue.Queue, h *house, from layers) error {
				return p.showQueued(c.Context, q, h, from, given[0])
			})
		},
	}
}

func (p *program) showQueued(ctx context.Context, q queue.Queue, h *house, from layers, name string) error {
	asJSON, err := from.on("json")
	if err != nil {
		return err
	}
	run, err := h.find(ctx, name)
	if err != nil {
		return err
	}
	e, err := q.Get(ctx, run.ID)
	if err != nil {
		return notQueued(run.ID, err)
	}
	if asJSON {
		return writeJSON(p.stdout, e)
	}
	t := table{w: p.stdout, palette: newPalette(p.stdout, p.env), program: again(from[0])}
	t.row("analysis", fmt.Sprintf("%s (attempt %d, %s)", escape(e.ID), e.Attempt, e.RunState))
	t.row("queue", queueState(e))
	t.row("submitted", localTime(e.SubmittedAt))
	if e.TakenAt != nil {
		t.row("taken", fmt.Sprintf("%s by %s", localTime(*e.TakenAt), escape(e.Worker)))
	}
	if len(e.Errors) > 0 {
		t.row("errors", escape(strings.Join(e.Errors, "; ")))
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

func newQueueCancel(p *program) *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Usage:     "cancel analyses that wait or run",
		UsageText: "scidex-oci queue cancel ID...",
		ArgsUsage: "ID...",
		Description: `What waits is canceled at once. The worker of what runs is asked to end it, as "scidex-oci stop" does: with its grace,
harvested and committed as canceled. Whoever wants to wait for that: scidex-oci show ID --wait.`,
		Action: func(c *cli.Context) error {
			given, err := words(c, 1, -1)
			if err != nil {
				return err
			}
			return p.withQueue(c, func(q queue.Queue, h *house, _ layers) error { return p.cancelQueued(c.Context, q, h, given) })
		},
	}
}

func (p *program) cancelQueued(ctx context.Context, q queue.Queue, h *house, given []string) (all error) {
	for _, name := range given {
		run, err := h.find(ctx, name)
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		was, err := q.Cancel(ctx, run.ID)
		switch {
		case errors.Is(err, catalog.ErrEnded):
			err = fmt.Errorf("%q has ended already: it is %s", run.ID, run.State)
		case err != nil:
			err = notQueued(run.ID, err)
		case was.State == queue.Running && was.RunState != catalog.Queued:
			_, err = fmt.Fprintf(p.stdout, "%s  its worker %s was asked to end it\n", escape(run.ID), escape(was.Worker))
		default:
			_, err = fmt.Fprintf(p.stdout, "%s  canceled\n", escape(run.ID))
		}
		all = errors.Join(all, err)
	}
	return all
}
