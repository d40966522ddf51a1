package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

const (
	// fresh is how long a count of the queue is reused, for all scrapers.
	fresh = 5 * time.Second
	// depthPatience is a scrape's timeout for the count.
	depthPatience = 2 * time.Second
)

// counted is a count of the queue.
type counted struct {
	classes []queue.ClassDepth
	workers map[queue.WorkerState]int
}

// count counts the queue.
func (s Source) count(ctx context.Context) (counted, error) {
	classes, err := s.Depth(ctx)
	if err != nil {
		return counted{}, err
	}
	workers, err := s.Workers(ctx)
	if err != nil {
		return counted{}, err
	}
	c := counted{classes, map[queue.WorkerState]int{}}
	for _, w := range workers {
		c.workers[w.Lease]++
	}
	return c, nil
}

// depth is a recent count of the queue.
type depth struct {
	ask func(context.Context) (counted, error)

	mu    sync.Mutex
	asked time.Time
	known bool
	last  counted
}

// refresh counts again if the last count is not fresh. Concurrent callers wait for the same count.
func (d *depth) refresh(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.asked.IsZero() && time.Since(d.asked) < fresh {
		return
	}
	asking, cancel := context.WithTimeout(ctx, depthPatience)
	defer cancel()
	last, err := d.ask(asking)
	if err != nil && ctx.Err() != nil {
		return // the caller was canceled; that says nothing of the queue
	}
	d.last, d.known, d.asked = last, err == nil, time.Now() // last is empty with an error
}

func (d *depth) read() (last counted, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last, d.known
}

// states are those of the jobs of the queue.
var states = [...]struct {
	name string
	jobs func(queue.Depth) int64
}{
	{"waiting", func(d queue.Depth) int64 { return d.Waiting }},
	{"unplaced", func(d queue.Depth) int64 { return d.Unplaced }},
	{"retrying", func(d queue.Depth) int64 { return d.Retrying }},
	{"scheduled", func(d queue.Depth) int64 { return d.Scheduled }},
	{"running", func(d queue.Depth) int64 { return d.Running }},
}

var (
	queueUp     = level("scidex_oci_queue_up", "Whether the queue could be counted.")
	queueJobs   = level("scidex_oci_queue_jobs", "Jobs of the whole queue that have not ended, by state.", "state")
	classJobs   = level("scidex_oci_queue_class_jobs", "Jobs of the whole queue that have not ended, by class and state.", "class", "state")
	classOldest = level("scidex_oci_queue_class_oldest_seconds",
		"For how long the oldest job of a class that waits or is unplaced could have run, by the clock of the database.", "class")
	queueWorkers = level("scidex_oci_queue_workers", "Workers that have a lease or analyses, by the state of the lease.", "lease")
)

// levels are the gauges of the queue, from the last count. Workers have the words of "queue workers".
func (d *depth) levels(write writeLevel) {
	last, known := d.read()
	write(queueUp, truth(known))
	if !known {
		return
	}
	for _, s := range states {
		write(queueJobs, float64(s.jobs(queue.Sum(last.classes))), s.name)
		for _, c := range last.classes {
			write(classJobs, float64(s.jobs(c.Depth)), c.Class, s.name)
		}
	}
	for _, c := range last.classes {
		write(classOldest, c.Oldest.Seconds(), c.Class)
	}
	for _, state := range []queue.WorkerState{queue.Held, queue.Silent, queue.NoLease} {
		write(queueWorkers, float64(last.workers[state]), string(state))
	}
}
