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

// depth is a recent count of the queue.
type depth struct {
	ask func(context.Context) (queue.Depth, error)

	mu    sync.Mutex
	asked time.Time
	known bool
	last  queue.Depth
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
	d.last, d.known, d.asked = last, err == nil, time.Now()
}

func (d *depth) read() (last queue.Depth, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last, d.known
}

func (m *Metrics) ofQueue() {
	m.gauge("scidex_oci_queue_up", "Whether the queue could be counted.", func() float64 {
		_, known := m.depth.read()
		return truth(known)
	})
	by := func(state string, jobs func(queue.Depth) int64) metric {
		return level{labeled("state", state), func() (float64, bool) {
			last, known := m.depth.read()
			return float64(jobs(last)), known
		}}
	}
	m.add(gauge, "scidex_oci_queue_jobs", "Jobs of the whole queue that have not ended, by state.",
		by("waiting", func(d queue.Depth) int64 { return d.Waiting }),
		by("unplaced", func(d queue.Depth) int64 { return d.Unplaced }),
		by("retrying", func(d queue.Depth) int64 { return d.Retrying }),
		by("scheduled", func(d queue.Depth) int64 { return d.Scheduled }),
		by("running", func(d queue.Depth) int64 { return d.Running }),
	)
}
