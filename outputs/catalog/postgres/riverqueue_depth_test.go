package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// note is what is recorded of a job that a worker has returned, up to whether that worker can never run it.
func note(unfit string) string {
	return `jsonb_build_object('snoozes', 1, 'scidex_returned', '{"why": "", "unfit": ` + unfit + `}'::jsonb || jsonb_build_object('taken', extract(epoch FROM to_timestamp(7))::text))`
}

// Every job that has not ended is counted once, in the state that the queue shows, and other programs' jobs are not.
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
	if got, err := q.Depth(t.Context()); queue.Sum(got) != want || err != nil {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := q.Depth(gone); err == nil || got != nil {
		t.Errorf("of a queue that was not asked: %+v, %v", got, err)
	}
}

// TestQueueUnplaced: a job that was given back by a worker that can never run it is counted separately, until one that can run it gives it back.
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
		if got, err := q.Depth(t.Context()); queue.Sum(got) != want || err != nil {
			t.Errorf("after %d tries: %+v, %v, want %+v", n+1, got, err, want)
		}
		unfit.Store(n == 1)
		q.execute(`UPDATE scidex_oci.river_job SET state = 'available', scheduled_at = now()`) // its time has come
	}
}

// returned waits until a job was returned for this reason.
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

// byClass is the depth of each class.
func (q *queued) byClass() map[string]queue.ClassDepth {
	q.Helper()
	all, err := q.Depth(q.Context())
	if err != nil {
		q.Fatal(err)
	}
	classes := map[string]queue.ClassDepth{}
	for _, c := range all {
		if _, twice := classes[c.Class]; twice {
			q.Errorf("%s is there twice in %+v", c.Class, all)
		}
		classes[c.Class] = c
	}
	return classes
}

func ofClass(class string) func(*queue.Submission) {
	return func(s *queue.Submission) { s.Class = class }
}

// TestDepthByClass counts each class: those with a worker also without a job, and queues that are no class as OtherClasses.
func TestDepthByClass(t *testing.T) {
	q := newQueued(t)
	q.submit("a")
	q.submit("b", ofClass("gpu"))
	q.submit("c", ofClass("gpu"))
	q.submit("d")
	q.submit("e")
	q.submit("f")
	q.execute(`UPDATE scidex_oci.river_job SET queue = 'default' WHERE args ->> 'id' = 'd'`)
	q.execute(`UPDATE scidex_oci.river_job SET queue = 'analyses-default' WHERE args ->> 'id' = 'e'`)
	q.execute(`UPDATE scidex_oci.river_job SET queue = 'analyses-' || repeat('x', 41) WHERE args ->> 'id' = 'f'`)
	q.execute(`INSERT INTO scidex_oci.river_queue (name, updated_at) VALUES ('analyses-idle', now()), ('analyses-gone', now() - interval '1 hour')`)
	got := q.byClass()
	for class, waiting := range map[string]int64{"default": 1, "gpu": 2, "idle": 0, queue.OtherClasses: 3} {
		if d, ok := got[class]; !ok || d.Depth != (queue.Depth{Waiting: waiting}) || (d.Oldest > 0) != (waiting > 0) {
			t.Errorf("of class %s: %+v, %v", class, d, ok)
		}
	}
	if len(got) != 4 {
		t.Errorf("there are %+v", got)
	}
}

// TestDepthOfManyClasses: made-up classes do not displace those that have a worker.
func TestDepthOfManyClasses(t *testing.T) {
	q := newQueued(t)
	q.submit("a", ofClass("zz"))
	for n := range queue.NamedClasses + 5 {
		id := fmt.Sprintf("made-up-%02d", n)
		q.submit(id, ofClass(id))
	}
	q.execute(`INSERT INTO scidex_oci.river_queue (name) VALUES ('analyses-zz')`)
	got := q.byClass()
	if len(got) != queue.NamedClasses+1 || got["zz"].Waiting != 1 || got["made-up-00"].Waiting != 1 || got[queue.OtherClasses].Waiting != 6 {
		t.Errorf("%d classes: %+v", len(got), got)
	}
}

// TestDepthOldest: the age is that of the oldest job that could run. Giving the job back does not make it younger; a failed try does.
func TestDepthOldest(t *testing.T) {
	q := newQueued(t)
	since := func(what string, want time.Duration) {
		t.Helper()
		if got := q.byClass()["default"].Oldest; got < want || got > want+30*time.Minute {
			t.Errorf("%s: the oldest is %v old, want %v", what, got, want)
		}
	}
	q.submit("later")
	q.execute(`UPDATE scidex_oci.river_job SET state = 'scheduled', created_at = now() - interval '9 hours', scheduled_at = now() + interval '1 hour'`)
	since("one for later", 0)
	q.submit("a")
	var tries atomic.Int64
	var fails atomic.Bool
	q.execute(`UPDATE scidex_oci.river_job SET created_at = now() - interval '9 hours', scheduled_at = now() - interval '3 hours' WHERE args ->> 'id' = 'a'`)
	since("one that waits", 3*time.Hour)
	q.work(func(context.Context, queue.Claim) error {
		if fails.Load() {
			return errors.New("failed")
		}
		return &queue.Later{After: time.Hour, Why: fmt.Sprint("try ", tries.Add(1))}
	})
	q.returned("a", "try 1")
	since("given back", 3*time.Hour)
	q.execute(`UPDATE scidex_oci.river_job SET state = 'available', scheduled_at = now() - interval '1 minute' WHERE args ->> 'id' = 'a'`)
	q.returned("a", "try 2")
	since("given back again", 3*time.Hour)
	fails.Store(true)
	q.execute(`UPDATE scidex_oci.river_job SET state = 'available', scheduled_at = now() WHERE args ->> 'id' = 'a'`)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if e, err := q.Get(t.Context(), "a"); err == nil && len(e.Errors) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not fail")
		}
	}
	fails.Store(false) // it is tried again in seconds
	q.returned("a", "try 3")
	since("given back after an error", 0)
}
