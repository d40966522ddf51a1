package queuecmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

func newRetry(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "retry",
		Usage:     "queue a further attempt at analyses that ended in an error or were canceled",
		UsageText: "scidex-oci queue retry ID...",
		ArgsUsage: "ID...",
		Description: `An analysis whose last attempt is error, lost or canceled is queued once more, as it was submitted, with all its retries.
One that is complete or failed is not: an analysis that came to an end of its own is never repeated in the queue
(scidex-oci run --again ID repeats it).`,
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, -1)
			if err != nil {
				return err
			}
			return withQueue(p, c, func(q queue.Queue, st *stores.Stores) error { return retryQueued(c.Context, p, q, st, given) })
		},
	}
}

func retryQueued(ctx context.Context, p *command.Program, q queue.Queue, st *stores.Stores, given []string) (all error) {
	for _, name := range given {
		run, err := st.Find(ctx, name)
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		next, err := q.Retry(ctx, run.ID)
		switch {
		case errors.Is(err, queue.ErrNoRetry):
			err = fmt.Errorf("%q: %w; see \"scidex-oci run --again\"", run.ID, err)
		case errors.Is(err, queue.ErrInQueue):
			err = fmt.Errorf("%q: %w; see \"scidex-oci queue show\"", run.ID, err)
		case err != nil:
			err = notQueued(run.ID, err)
		default:
			_, err = fmt.Fprintf(p.Stdout, "%s  queued as attempt %d\n", screen.Escape(run.ID), next.Attempt)
		}
		all = errors.Join(all, err)
	}
	return all
}
