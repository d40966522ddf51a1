package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// note is what is noted of a job that a worker has given back; whether it can never run it is what follows.
func note(unfit string) string {
	return `jsonb_build_object('snoozes', 1, 'scidex_returned', '{"why": "", "unfit": ` + unfit + `}'::jsonb || jsonb_build_object('taken', extract(epoch FROM to_timestamp(7))::text))`
}

// Every job that has not ended is counted once, as what it is for who looks at the queue, and others' jobs are not.
func TestDepth(t *testing.T) {
	q := newQueued(t)
	for id, set := range map[string]string{
		"new":        "",
		"late":       "state = 'scheduled', scheduled_at = now() - interval '1 second'",
		"no room":    `state = 'available', scheduled_at = now() + interval '1 second', metadata = '{"snoozes": 1}'`,
		"too large":  `state = 'scheduled', scheduled_at = now() + interval '1 minute', metadata = '{"snoozes": 3}'`,
		"tomorrow":   "state = 'scheduled', scheduled_at = now() + interval '1 day'",
		"again":      "state = 'retryable', scheduled_at = now() + interval '1 second'",
		"runs":       "state = 'running'",
		"held once":  "state = 'scheduled', attempted_at = to_timestamp(7), scheduled_at = now() + interval '1 minute', metadata = " + note(`true, "fits": 7`),
		"unplaced":   "state = 'scheduled', attempted_at = to_timestamp(7), scheduled_at = now() + interval '1 minute', metadata = " + note("true"),
		"returned":   "state = 'available', attempted_at = to_timestamp(7), metadata = " + note("true"),
		"no room to": `state = 'available', attempted_at = to_timestamp(7), metadata = ` + note("false"),
		"fits another": `state = 'available', attempted_at = to_timestamp(7), metadata = jsonb_set(` + note("true") +
			`, '{scidex_returned,fits}', to_jsonb(extract(epoch FROM now())))`,
		"taken since": `state = 'available', attempted_at = to_timestamp(8), metadata = ` + note("true"),
		"odd note":    `state = 'available', attempted_at = to_timestamp(7), metadata = '{"scidex_returned": {"unfit": {"a": 1}, "fits": []}}'`,
		"ended":       "state = 'completed', finalized_at = now()",
		"discarded":   "state = 'discarded', finalized_at = now()",
		"others":      "kind = 'other'",
	} {
		q.submit(id)
		if set != "" {
			q.execute("UPDATE scidex_oci.river_job SET "+set+" WHERE args ->> 'id' = $1", id)
		}
	}
	want := queue.Depth{Waiting: 8, Unplaced: 3, Retrying: 1, Scheduled: 1, Running: 1}
	if got, err := q.Depth(t.Context()); got != want || err != nil {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := q.Depth(gone); err == nil || got != (queue.Depth{}) {
		t.Errorf("of a queue that was not asked: %+v, %v", got, err)
	}
}

// TestQueueUnplaced: what a worker can never run is counted apart, until one that could had no room for it.
func TestQueueUnplaced(t *testing.T) {
	q := newQueued(t)
	var unfit atomic.Bool
	unfit.Store(true)
	var tries atomic.Int64
	q.submit("a")
	q.work(func(context.Context, queue.Claim) error {
		return &queue.Later{After: time.Hour, Unfit: unfit.Load(), Why: fmt.Sprint("try ", tries.Add(1))}
	})
	for n, want := range []queue.Depth{{Unplaced: 1}, {Waiting: 1}, {Waiting: 1}} {
		q.returned("a", fmt.Sprint("try ", n+1))
		if got, err := q.Depth(t.Context()); got != want || err != nil {
			t.Errorf("after %d tries: %+v, %v, want %+v", n+1, got, err, want)
		}
		unfit.Store(n == 1)
		q.execute(`UPDATE scidex_oci.river_job SET state = 'available', scheduled_at = now()`) // its time has come
	}
}

// returned waits until a job was given back for this reason.
func (q *queued) returned(id, why string) {
	q.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		e, err := q.Get(q.Context(), id)
		if err == nil && e.State == queue.Waiting && e.NextAt != nil && e.Why == why {
			return
		}
		if err != nil || time.Now().After(deadline) {
			q.Fatalf("%+v, %v", e, err)
		}
	}
}
