package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// holding is a worker of one job, and of some ahead, whose jobs end when they are told to.
type holding struct {
	ahead atomic.Int64
	taken chan string

	mu   sync.Mutex
	ends map[string]chan struct{}
}

func (q *queued) hold(name string) *holding {
	q.Helper()
	h := &holding{taken: make(chan string, 100), ends: map[string]chan struct{}{}}
	ctx, cancel := context.WithCancel(q.Context())
	ended := make(chan error, 1)
	o := queue.Options{Name: name, Jobs: 1, RescueAfter: time.Hour, Ahead: func() int { return int(h.ahead.Load()) }}
	go func() { ended <- q.Work(ctx, o, h.do) }()
	q.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			q.Errorf("the worker ended with: %v", err)
		}
	})
	return h
}

func (h *holding) do(ctx context.Context, c queue.Claim) error {
	run, err := began(ctx, c)
	if err != nil {
		return err
	}
	h.taken <- run.ID
	select {
	case <-h.end(run.ID):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return over(ctx, c, run, catalog.Complete, queue.Finish)
}

func (h *holding) end(id string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ends[id] == nil {
		h.ends[id] = make(chan struct{})
	}
	return h.ends[id]
}

func (h *holding) next(t *testing.T) string {
	t.Helper()
	select {
	case id := <-h.taken:
		return id
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing is taken")
		return ""
	}
}

// TestQueueAhead has a worker of one job that takes as many ahead as it says now, and no more. Without any ahead it takes the
// next job when one has ended, and does not wait for its poll.
func TestQueueAhead(t *testing.T) {
	q := newQueued(t)
	h := q.hold("host/1/ahead")
	const jobs, poll = 12, 5 * time.Second
	for i := range jobs {
		q.submit(fmt.Sprint("job-", i))
	}
	q.execute(`UPDATE scidex_oci.river_job SET scheduled_at = scheduled_at - interval '1 min' WHERE state = 'available'`) // as if they had waited
	took := h.next(t)
	soon := 0
	for range jobs / 2 {
		start := time.Now()
		close(h.end(took))
		if took = h.next(t); time.Since(start) < poll/2 {
			soon++
		}
		if len(h.taken) > 0 {
			t.Error("a worker of one job has taken two")
		}
	}
	if soon < jobs/2*3/4 {
		t.Errorf("%d of %d jobs were taken before half a poll", soon, jobs/2)
	}
	h.ahead.Store(1)
	second := h.next(t) // by its poll
	h.ahead.Store(0)
	close(h.end(took))
	q.want(took, queue.Ended, catalog.Complete)
	if len(h.taken) > 0 {
		t.Error("with one that was taken ahead the worker has taken another")
	}
	h.ahead.Store(7) // more than the places that it has
	third := h.next(t)
	close(h.end(second))
	fourth := h.next(t)
	if len(h.taken) > 0 {
		t.Errorf("with %s and %s it has taken another", third, fourth)
	}
}

// TestQueueAheadBesideAFree: what comes to the queue is not taken ahead by a worker whose places are in use while another has a
// free one.
func TestQueueAheadBesideAFree(t *testing.T) {
	q := newQueued(t)
	full := q.hold("host/1/full")
	full.ahead.Store(1)
	q.submit("first")
	full.next(t)
	free := q.hold("host/1/free")
	const jobs = 12
	most := 0
	for i := range jobs {
		id := fmt.Sprint("job-", i)
		q.submit(id)
		select {
		case <-free.taken:
			most++
			close(free.end(id))
		case <-full.taken: // where the other was slow
			close(full.end(id))
		case <-time.After(2 * time.Minute):
			t.Fatal("nothing is taken")
		}
		q.want(id, queue.Ended, catalog.Complete)
	}
	if most < jobs*3/4 {
		t.Errorf("the free worker has taken %d of %d", most, jobs)
	}
}
