package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// look is how often free space is read, and how often a survey may begin.
const look = 50 * time.Millisecond

// watchdog ends a run whose /work passes its bound, or whose file systems are left with too little. Nothing
// but a tmpfs makes the kernel refuse what is too much: it is seen after the fact, and killed at once, since
// what is told to end writes on.
type watchdog struct {
	work  *os.File // on disk; nil where the kernel bounds it
	kept  []kept
	bound outputs.Extent
	floor Floor
	links map[string]string
	proc  string
	path  string // of /work, as processes see it
	kill  func() error

	cancel  context.CancelFunc
	loops   sync.WaitGroup
	unnamed atomic.Pointer[[]outputs.Inode] // what the last survey found

	mu      sync.Mutex
	finding finding
}

// kept is a directory whose file system keeps its floor.
type kept struct {
	dir *os.File
	of  string
}

// finding is why a watchdog has ended a run; at most one of full, short and err is set.
type finding struct {
	peak  outputs.Extent
	full  *outputs.Extent
	short *Shortage
	err   error
}

// release sets a watchdog on the run.
func (w *worker) release() *watchdog {
	d := &watchdog{
		bound: w.job.Bound, floor: w.job.Floor, links: w.job.Links, proc: "/proc", path: "/work",
		kill: func() error { return w.container.Signal(syscall.SIGKILL) },
		kept: []kept{{w.ingest, "the blob store"}},
	}
	if w.job.WorkTmpfs == nil {
		d.work, d.kept = w.work, append([]kept{{w.work, "/work"}}, d.kept...)
	}
	d.start()
	return d
}

func (d *watchdog) start() {
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	loops := []func(context.Context) error{d.watchFloor}
	if d.work != nil {
		loops = append(loops, d.watchNames, d.watchUnnamed)
	}
	for _, loop := range loops {
		d.loops.Go(func() {
			if err := loop(ctx); err != nil && ctx.Err() == nil {
				d.end(finding{err: err})
			}
		})
	}
}

// stop calls the watchdog back and returns what it found.
func (d *watchdog) stop() finding {
	d.cancel()
	d.loops.Wait()
	return d.finding
}

// end kills the run for the first reason that is found.
func (d *watchdog) end(f finding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.finding.full == nil && d.finding.short == nil && d.finding.err == nil {
		d.finding.full, d.finding.short, d.finding.err = f.full, f.short, f.err
	}
	if err := d.kill(); err != nil {
		d.finding.err = errors.Join(d.finding.err, err)
	}
	d.cancel()
}

// every calls act at each look until it says so or the run has ended.
func every(ctx context.Context, act func() (done bool, err error)) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if done, err := act(); done || err != nil {
				return err
			}
		}
	}
}

// watchFloor sees to it that the file systems keep their floor.
func (d *watchdog) watchFloor(ctx context.Context) error {
	return every(ctx, func() (bool, error) {
		for _, k := range d.kept {
			short, err := d.floor.Short(k.dir, k.of)
			if err != nil {
				return false, err
			}
			if short != nil {
				d.end(finding{short: short})
				return true, nil
			}
		}
		return false, nil
	})
}

// watchNames measures /work and ends a run that passes the bound twice in a row: the second time without
// what a survey of open files may have found of what has gone since.
func (d *watchdog) watchNames(ctx context.Context) error {
	ruler := outputs.NewRuler(d.work, d.links, false)
	return d.paced(ctx, func() (room outputs.Extent, whole bool, err error) {
		var known []outputs.Inode
		if list := d.unnamed.Load(); list != nil {
			known = *list
		}
		got, whole, err := ruler.Measure(ctx, d.bound, known)
		if err != nil {
			return room, false, err
		}
		if !got.Exceeds(d.bound) {
			d.saw(got)
			return outputs.Extent{Files: d.bound.Files - got.Files, Bytes: d.bound.Bytes - got.Bytes}, whole, nil
		}
		if got, err = d.confirm(ctx, ruler); err == nil && got.Exceeds(d.bound) {
			d.saw(got)
			d.end(finding{full: &got})
		}
		return room, false, err
	})
}

// confirm measures afresh: the names alone, and only where they do not decide it the open files too.
func (d *watchdog) confirm(ctx context.Context, ruler *outputs.Ruler) (outputs.Extent, error) {
	got, _, err := ruler.Measure(ctx, d.bound, nil)
	if err != nil || got.Exceeds(d.bound) {
		return got, err
	}
	list, err := unnamed(d.proc, d.path, d.bound.Files)
	if err != nil {
		return got, err
	}
	got, _, err = ruler.Measure(ctx, d.bound, list)
	return got, err
}

// watchUnnamed surveys what is open and has no name. Its cost is the analysis' to choose, by the number of
// descriptors that it holds: so the names do not wait for it.
func (d *watchdog) watchUnnamed(ctx context.Context) error {
	return d.paced(ctx, func() (outputs.Extent, bool, error) {
		list, err := unnamed(d.proc, d.path, d.bound.Files)
		d.unnamed.Store(&list)
		return d.bound, true, err
	})
}

// paced makes a survey whenever it is due.
func (d *watchdog) paced(ctx context.Context, survey func() (room outputs.Extent, whole bool, err error)) error {
	runtime.LockOSThread() // its processor time is measured
	defer runtime.UnlockOSThread()
	var pace pacer
	return every(ctx, func() (bool, error) {
		var st unix.Statfs_t
		if err := statfs(d.work, &st); err != nil {
			return false, fmt.Errorf("free space of /work: %w", err)
		}
		free := supplyOf(&st)
		if !pace.due(time.Now(), free) {
			return false, nil
		}
		began := threadTime()
		room, whole, err := survey()
		pace.done(time.Now(), threadTime()-began, free, room, whole)
		return false, err
	})
}

func (d *watchdog) saw(got outputs.Extent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.finding.peak = d.finding.peak.Peak(got)
}

// countMost is how many names are counted of a /work that has passed its bound.
const countMost = 1_000_000

// measure adds to the end of a run what the watchdog found, and what /work takes now that nobody writes to it
// any more.
func (w *worker) measure(exit *Exit) {
	var f finding
	if w.watchdog != nil {
		f = w.watchdog.stop()
	}
	exit.WorkFull, exit.HostFull = f.full, f.short
	most := outputs.Extent{Files: max(countMost, w.job.Bound.Files), Bytes: math.MaxInt64}
	last, _, err := outputs.NewRuler(w.work, w.job.Links, true).Measure(context.Background(), most, nil)
	exit.Work = f.peak.Peak(last)
	full, unknown := w.noSpace()
	exit.NoSpace = full
	if err = errors.Join(f.err, err, unknown); err != nil {
		exit.WatchError = err.Error()
		return
	}
	if w.job.WorkTmpfs == nil && exit.WorkFull == nil && last.Exceeds(w.job.Bound) {
		exit.WorkFull = &last
	}
}
