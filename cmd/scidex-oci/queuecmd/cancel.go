package queuecmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

func newCancel(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Usage:     "cancel analyses that wait or run",
		UsageText: "scidex-oci queue cancel ID...",
		ArgsUsage: "ID...",
		Description: `What waits is canceled at once. The worker of what runs is asked to end it, as "scidex-oci stop" does: with its grace,
harvested and committed as canceled. Whoever wants to wait for that: scidex-oci show ID --wait.`,
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, -1)
			if err != nil {
				return err
			}
			return withQueue(p, c, func(q queue.Queue, st *stores.Stores) error { return cancelQueued(c.Context, p, q, st, given) })
		},
	}
}

func cancelQueued(ctx context.Context, p *command.Program, q queue.Queue, st *stores.Stores, given []string) (all error) {
	for _, name := range given {
		run, err := st.Find(ctx, name)
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
			_, err = fmt.Fprintf(p.Stdout, "%s  its worker %s was asked to end it\n", screen.Escape(run.ID), screen.Escape(was.Worker))
		default:
			_, err = fmt.Fprintf(p.Stdout, "%s  canceled\n", screen.Escape(run.ID))
		}
		all = errors.Join(all, err)
	}
	return all
}
