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

// refresh counts again where the last count is not fresh. Concurrent callers wait for the same count.
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

func (m *Metrics) ofQueue() {
	m.gauge("scidex_oci_queue_up", "Whether the queue could be counted.", func() float64 {
		_, known := m.depth.read()
		return truth(known)
	})
	var all []metric
	for _, s := range states {
		all = append(all, level{labeled("state", s.name), func() (float64, bool) {
			last, known := m.depth.read()
			return float64(s.jobs(queue.Sum(last.classes))), known
		}})
	}
	m.add(gauge, "scidex_oci_queue_jobs", "Jobs of the whole queue that have not ended, by state.", all...)
	m.add(gauge, "scidex_oci_queue_class_jobs", "Jobs of the whole queue that have not ended, by class and state.", m.ofClasses(func(c queue.ClassDepth, write writeLine) {
		for _, s := range states {
			write(labeled("class", c.Class, "state", s.name), float64(s.jobs(c.Depth)))
		}
	}))
	m.add(gauge, "scidex_oci_queue_class_oldest_seconds", "For how long the oldest job of a class that waits or is unplaced could have run, by the clock of the database.",
		m.ofClasses(func(c queue.ClassDepth, write writeLine) { write(labeled("class", c.Class), c.Oldest.Seconds()) }))
	m.ofLeases()
}

// ofLeases adds the workers by the words of "queue workers".
func (m *Metrics) ofLeases() {
	var all []metric
	for _, state := range []queue.WorkerState{queue.Held, queue.Silent, queue.NoLease} {
		all = append(all, level{labeled("lease", string(state)), func() (float64, bool) {
			last, known := m.depth.read()
			return float64(last.workers[state]), known
		}})
	}
	m.add(gauge, "scidex_oci_queue_workers", "Workers that have a lease or analyses, by the state of the lease.", all...)
}

// ofClasses writes lines for each class that the queue had when it was counted.
func (m *Metrics) ofClasses(of func(queue.ClassDepth, writeLine)) metric {
	return lines(func(write writeLine) {
		last, _ := m.depth.read()
		for _, c := range last.classes {
			of(c, write)
		}
	})
}
