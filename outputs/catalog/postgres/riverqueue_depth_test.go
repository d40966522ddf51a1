package postgres_test

import (
	"context"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// Every job that has not ended is counted once, as what it is for who looks at the queue, and others' jobs are not.
func TestDepth(t *testing.T) {
	q := newQueued(t)
	for id, set := range map[string]string{
		"new":       "",
		"late":      "state = 'scheduled', scheduled_at = now() - interval '1 second'",
		"no room":   `state = 'available', scheduled_at = now() + interval '1 second', metadata = '{"snoozes": 1}'`,
		"too large": `state = 'scheduled', scheduled_at = now() + interval '1 minute', metadata = '{"snoozes": 3}'`,
		"tomorrow":  "state = 'scheduled', scheduled_at = now() + interval '1 day'",
		"again":     "state = 'retryable', scheduled_at = now() + interval '1 second'",
		"runs":      "state = 'running'",
		"ended":     "state = 'completed', finalized_at = now()",
		"discarded": "state = 'discarded', finalized_at = now()",
		"others":    "kind = 'other'",
	} {
		q.submit(id)
		if set != "" {
			q.execute("UPDATE scidex_oci.river_job SET "+set+" WHERE args ->> 'id' = $1", id)
		}
	}
	want := queue.Depth{Waiting: 4, Retrying: 1, Scheduled: 1, Running: 1}
	if got, err := q.Depth(t.Context()); got != want || err != nil {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := q.Depth(gone); err == nil || got != (queue.Depth{}) {
		t.Errorf("of a queue that was not asked: %+v, %v", got, err)
	}
}
