package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

func newQueueRetry(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "retry",
		Usage:     "queue a further attempt at analyses that ended in an error or were canceled",
		UsageText: "scidex-oci queue retry ID...",
		ArgsUsage: "ID...",
		Description: `An analysis whose last attempt is error, lost or canceled is queued once more, as it was submitted, with all its retries.
One that is complete or failed is not: an analysis that came to an end of its own is never repeated in the queue
(scidex-oci run --again ID repeats it).`,
		Action: forEachQueued(p, retryQueued),
	}
}

// retryQueued returns the outcome, for a person.
func retryQueued(ctx context.Context, q queue.Queue, run catalog.Run) (string, error) {
	next, err := q.Retry(ctx, run.ID)
	switch {
	case errors.Is(err, queue.ErrNoRetry):
		return "", fmt.Errorf("%q: %w; see \"scidex-oci run --again\"", run.ID, err)
	case errors.Is(err, queue.ErrInQueue):
		return "", fmt.Errorf("%q: %w; see \"scidex-oci queue show\"", run.ID, err)
	case err != nil:
		return "", notQueued(run.ID, err)
	}
	return fmt.Sprintf("queued as attempt %d", next.Attempt), nil
}
