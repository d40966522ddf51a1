package postgres_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// A run that was ended by its worker's drain runs again, even if its end was committed without the job: by recovery,
// after the worker's network was away or it was killed. A run that a person has stopped does not run again.
func TestReturnedByRecovery(t *testing.T) {
	for _, tt := range []struct {
		by    string
		again bool
	}{{queue.ByDrain, true}, {queue.ByOverdue, true}, {"scidex-oci stop", false}} {
		t.Run(tt.by, func(t *testing.T) {
			q := newQueued(t)
			q.submit("a")
			var first catalog.Run
			tried := make(chan struct{}, 1)
			q.work(func(ctx context.Context, c queue.Claim) error {
				if first.ID == "" {
					run, err := began(ctx, c)
					if err != nil {
						return err
					}
					first = run
					tried <- struct{}{}
					return queue.ErrOpen
				}
				run, err := began(ctx, c)
				if errors.Is(err, queue.ErrDone) {
					return nil
				}
				if err != nil {
					return err
				}
				return over(ctx, c, run, outcome.Complete, queue.Finish)
			})
			<-tried
			first.State, first.Reason, first.Message, first.FinishedAt = outcome.Canceled, "stopped", "stopped by "+tt.by, time.Now()
			if err := q.catalog.Commit(t.Context(), first, func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }); err != nil {
				t.Fatal(err)
			}
			q.execute(`UPDATE scidex_oci.river_job SET state = 'available'`) // as the rescuer does when its time is over
			if tt.again {
				q.want("a", queue.Ended, outcome.Canceled, outcome.Complete)
			} else {
				q.want("a", queue.Ended, outcome.Canceled)
			}
		})
	}
}
