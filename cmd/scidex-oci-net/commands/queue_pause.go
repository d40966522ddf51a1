package commands

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

func newQueuePause(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "pause",
		Usage:     "have no worker take anything more",
		UsageText: "scidex-oci queue pause",
		Description: `Holds for all workers and classes, until "scidex-oci queue resume". What runs goes on, and what is submitted waits; a worker that
starts meanwhile waits, too.`,
		Action: func(c *cli.Context) error { return switchQueue(p, c, queue.Queue.Pause) },
	}
}

func newQueueResume(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "resume",
		Usage:     "end a pause",
		UsageText: "scidex-oci queue resume",
		Action:    func(c *cli.Context) error { return switchQueue(p, c, queue.Queue.Resume) },
	}
}

func switchQueue(p *command.Program, c *cli.Context, change func(q queue.Queue, ctx context.Context) error) error {
	if _, err := command.Args(c, 0, 0); err != nil {
		return err
	}
	return withQueue(p, c, func(q queue.Queue, _ *stores.Stores) error { return change(q, c.Context) })
}

// tellPaused reports on standard error if the queue is paused.
func tellPaused(ctx context.Context, p *command.Program, q queue.Queue) error {
	since, err := q.Paused(ctx)
	if err == nil && since != nil {
		_, _ = fmt.Fprintf(p.Stderr, "scidex-oci: the queue is paused since %s, and workers take nothing; \"scidex-oci queue resume\" ends that\n", screen.LocalTime(*since))
	}
	return err
}
