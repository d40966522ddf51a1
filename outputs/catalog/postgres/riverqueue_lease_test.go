package postgres_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// shortLease is a lease that a busy machine renews in time.
const shortLease = 6 * time.Second

// leased starts a worker with a lease, or without one, that ends with the test.
func (q *queued) leased(name string, length time.Duration) (drain func()) {
	q.Helper()
	return q.leasing(name, length, nil)
}

// leasing is leased, with what is called when jobs of a dead worker are given to others.
func (q *queued) leasing(name string, length time.Duration, rescued func(jobs int)) (drain func()) {
	q.Helper()
	ctx, cancel := context.WithCancel(q.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Work(ctx, queue.Options{Name: name, Jobs: 1, Drain: time.Millisecond, RescueAfter: time.Hour, Lease: length, Rescued: rescued},
			func(context.Context, queue.Claim) error { return nil })
	}()
	return func() {
		q.Helper()
		cancel()
		if err := <-ended; err != nil {
			q.Errorf("the worker ended with: %v", err)
		}
	}
}

// lease waits until the row of a worker is as wanted.
func (q *queued) lease(name, what string, is func(queue.Worker) bool) (found queue.Worker) {
	q.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		workers, err := q.Workers(q.Context())
		if err != nil {
			q.Fatal(err)
		}
		found = queue.Worker{}
		for _, w := range workers {
			if w.Worker == name {
				found = w
			}
		}
		if is(found) {
			return found
		}
	}
	q.Fatalf("the lease of %s is %+v and not %s", name, found, what)
	return found
}

func there(w queue.Worker) bool { return w.Worker != "" }
func gone(w queue.Worker) bool  { return w.Worker == "" }

// other is a lease that no worker renews.
func (q *queued) other(name string, length time.Duration) {
	q.execute(`INSERT INTO scidex_oci.worker_lease VALUES ($1, 'other', $2, now(), now() - interval '1 day', now() - interval '2 days')`, name, length)
}

// A lease is unbroken while its row is the one that the worker has written. If it is another row, as on a standby, or
// gone, the worker counts from then.
func TestLeaseIsRenewed(t *testing.T) {
	q := newQueued(t)
	drain := q.leased("renews", shortLease)
	first := q.lease("renews", "there", there)
	second := q.lease("renews", "renewed", func(w queue.Worker) bool { return w.RenewedAt.Sub(*first.RenewedAt) > shortLease })
	if second.Lease != queue.Held || second.LengthMS != shortLease.Milliseconds() || second.Host == "" || !second.StartedAt.Equal(*first.StartedAt) {
		t.Errorf("the lease is %+v", second)
	}
	steady := q.lease("renews", "unbroken", func(w queue.Worker) bool { return w.RenewedAt.Sub(*w.UnbrokenSince) > shortLease })
	q.execute(`UPDATE scidex_oci.worker_lease SET renewed_at = renewed_at - interval '1 ms'`)
	q.lease("renews", "broken", func(w queue.Worker) bool { return w.UnbrokenSince.After(*steady.RenewedAt) })
	q.execute(`DELETE FROM scidex_oci.worker_lease`)
	again := q.lease("renews", "there again", there)
	if !again.StartedAt.After(*steady.RenewedAt) {
		t.Errorf("the new lease is %+v, the old one %+v", again, steady)
	}
	drain()
	q.lease("renews", "gone", gone)
}

// A worker takes the jobs of leases as long as its own that were silent all the time. A worker without a lease takes none.
func TestDeadLease(t *testing.T) {
	q := newQueued(t)
	q.submit("a")
	q.execute(`UPDATE scidex_oci.river_job SET state = 'running', queue = 'analyses-none', attempt = 1, attempted_at = now(), attempted_by = '{dead}'`)
	idle := q.leased("idle", 0)
	q.other("dead", shortLease)
	q.other("brief", shortLease-1)
	var rescued atomic.Int64
	judge := q.leasing("judges", shortLease, func(jobs int) { rescued.Add(int64(jobs)) })
	q.lease("judges", "unbroken for one lease", func(w queue.Worker) bool {
		return w.RenewedAt != nil && w.RenewedAt.Sub(*w.UnbrokenSince) > shortLease
	})
	if w := q.lease("dead", "there", there); w.Lease != queue.Silent || w.Jobs != 1 {
		t.Errorf("after one lease it is %+v", w)
	}
	q.lease("dead", "gone", gone)
	if e, err := q.Get(t.Context(), "a"); err != nil || e.State != queue.Waiting || len(e.Errors) != 1 {
		t.Errorf("its job is %+v, %v", e, err)
	}
	q.lease("brief", "there", there)
	if n, err := q.Rescue(t.Context(), "brief"); n != 0 || err != nil {
		t.Errorf("of a worker that has a lease alone %d were rescued: %v", n, err)
	}
	q.lease("brief", "gone", gone)
	judge()
	if got := rescued.Load(); got != 1 {
		t.Errorf("it says that it has rescued %d jobs", got)
	}
	q.other("dead", shortLease)
	idle()
	if w := q.lease("idle", "gone", gone); w.Lease != "" {
		t.Errorf("a worker without a lease has %+v", w)
	}
}
