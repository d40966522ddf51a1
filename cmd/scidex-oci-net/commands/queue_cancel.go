package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

func newQueueCancel(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Usage:     "cancel analyses that wait or run",
		UsageText: "scidex-oci queue cancel ID...",
		ArgsUsage: "ID...",
		Description: `What waits is canceled at once. The worker of what runs is asked to end it, as "scidex-oci stop" does: with its grace,
harvested and committed as canceled. To wait for that: scidex-oci show ID --wait.`,
		Action: forEachQueued(p, cancelQueued),
	}
}

// cancelQueued returns the outcome, for a person.
func cancelQueued(ctx context.Context, q queue.Queue, run catalog.Run) (string, error) {
	was, err := q.Cancel(ctx, run.ID)
	switch {
	case errors.Is(err, catalog.ErrEnded):
		return "", fmt.Errorf("%q has ended already: it is %s", run.ID, run.State)
	case err != nil:
		return "", notQueued(run.ID, err)
	case was.State == queue.Running && was.RunState != outcome.Queued:
		return fmt.Sprintf("its worker %s was asked to end it", screen.Escape(was.Worker)), nil
	}
	return "canceled", nil
}
