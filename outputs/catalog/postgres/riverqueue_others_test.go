package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// hands are claims of a worker that a test has in its hands: what it sends back ends the job's handler.
type hands struct {
	ctx   context.Context
	claim queue.Claim
	end   chan error
}

// inHand starts a worker that gives each claim to the test.
func (q *queued) inHand() <-chan hands {
	q.Helper()
	taken := make(chan hands, 4)
	q.work(func(ctx context.Context, c queue.Claim) error {
		h := hands{context.WithoutCancel(ctx), c, make(chan error, 1)}
		taken <- h
		select {
		case err := <-h.end:
			return err
		case <-ctx.Done():
			return queue.ErrOpen
		}
	})
	return taken
}

// Who does not get a run, or is refused before, does not end that of who has it.
func TestQueueLoser(t *testing.T) {
	for _, tries := range []bool{false, true} {
		t.Run(fmt.Sprintf("tries %v", tries), func(t *testing.T) {
			q := newQueued(t)
			q.submit("a")
			taken := q.inHand()
			loser := <-taken
			row, _, err := loser.claim.Settle(loser.ctx)
			if err != nil {
				t.Fatal(err)
			}
			q.execute(`UPDATE scidex_oci.river_job SET state = 'available'`) // as River's rescuer does
			winner := <-taken
			won, err := began(winner.ctx, winner.claim)
			if err != nil {
				t.Fatal(err)
			}
			if tries {
				if err := loser.claim.Begin(loser.ctx, row); !errors.Is(err, catalog.ErrExists) {
					t.Errorf("it has begun too: %v", err)
				}
			}
			if err := over(loser.ctx, loser.claim, row, catalog.Error, queue.Requeue); !errors.Is(err, catalog.ErrEnded) {
				t.Errorf("the loser has ended it: %v", err)
			}
			q.want("a", queue.Running, catalog.Running)
			err = over(winner.ctx, winner.claim, won, catalog.Complete, queue.Finish)
			winner.end <- err
			if err != nil {
				t.Errorf("the winner could not commit: %v", err)
			}
			loser.end <- queue.ErrOpen
			q.want("a", queue.Ended, catalog.Complete)
		})
	}
}
