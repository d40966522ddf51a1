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
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
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
	running sync.WaitGroup
	surveys []*survey
	unnamed atomic.Pointer[[]outputs.Inode] // what the last survey found

	mu      sync.Mutex
	last    outputs.Extent // measured
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
func (w *worker) release(ctx context.Context) *watchdog {
	d := &watchdog{
		bound: w.job.Bound, floor: w.job.Floor, links: w.job.Links, proc: w.proc.Name(), path: "/work",
		kill: w.kill,
		kept: []kept{{w.ingest, "the blob store"}},
	}
	if w.job.WorkTmpfs == nil {
		d.work, d.kept = w.work, append([]kept{{w.work, "/work"}}, d.kept...)
	}
	d.start(ctx)
	return d
}

func (d *watchdog) start(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	d.cancel = cancel
	if d.work != nil {
		d.surveys = []*survey{d.names(), d.openFiles()}
	}
	d.running.Go(func() { d.check(ctx, d.watch(ctx)) })
}

// check ends a run that cannot be watched any more.
func (d *watchdog) check(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		d.end(finding{err: err})
	}
}

// stop calls the watchdog back and returns what it found.
func (d *watchdog) stop() finding {
	d.cancel()
	d.running.Wait()
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

// survey is made again and again, never twice at once.
type survey struct {
	pace pacer // while busy it is the survey's own
	busy atomic.Bool
	do   func(context.Context) (room outputs.Extent, whole bool, err error)
}

// watch looks at what is free, and begins the surveys that are due, until the run has ended. The first time it waits in Go:
// most of many short runs end before, and a thread would cost each more than it spares.
func (d *watchdog) watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-time.After(look):
	}
	var level freespace.Watch
	defer context.AfterFunc(ctx, level.Stop)()
	for ctx.Err() == nil {
		floors, err := d.checkFloor()
		if err != nil {
			return err
		}
		if err := d.begin(ctx); err != nil {
			return err
		}
		d.rest(&level, floors)
	}
	return nil
}

// rest is over when a look has found that there is something to do, or when the next survey is due.
func (d *watchdog) rest(level *freespace.Watch, floors []freespace.Mark) {
	resting, marks, looks := d.marks(time.Now())
	marks = append(marks, floors...)
	level.Wait(look, looks, marks)
	for i, s := range resting {
		s.pace.high = marks[i].High
	}
}

// marks are those at which the surveys that rest come before they are due, in so many looks.
func (d *watchdog) marks(now time.Time) (resting []*survey, marks []freespace.Mark, looks int) {
	due := idle // the floors are reckoned anew then
	for _, s := range d.surveys {
		if s.busy.Load() {
			due = look
			continue
		}
		due = min(due, s.pace.rest(false)-now.Sub(s.pace.ended))
		resting, marks = append(resting, s), append(marks, freespace.Mark{Dir: d.work, Low: s.pace.low(), High: s.pace.high})
	}
	return resting, marks, max(1, int((due+look-1)/look))
}

// checkFloor ends the run where a file system does not keep its floor, and else returns the marks of all of them.
func (d *watchdog) checkFloor() (marks []freespace.Mark, err error) {
	for _, k := range d.kept {
		mark, short, err := d.floor.look(k.dir, k.of)
		if err != nil {
			return nil, err
		}
		if short != nil {
			d.end(finding{short: short})
			return nil, nil
		}
		marks = append(marks, mark)
	}
	return marks, nil
}

// begin starts what is due, beside the watch: a survey may take long.
func (d *watchdog) begin(ctx context.Context) error {
	if d.work == nil {
		return nil
	}
	var st unix.Statfs_t
	if err := statfs(d.work, &st); err != nil {
		return fmt.Errorf("free space of /work: %w", err)
	}
	free := supplyOf(&st)
	for _, s := range d.surveys {
		if s.busy.Load() || !s.pace.due(time.Now(), free) {
			continue
		}
		s.busy.Store(true)
		d.running.Go(func() { d.check(ctx, s.run(ctx, free)) })
	}
	return nil
}

func (s *survey) run(ctx context.Context, free supply) error {
	defer s.busy.Store(false)
	runtime.LockOSThread() // whose time is taken
	defer runtime.UnlockOSThread()
	began := threadTime()
	room, whole, err := s.do(ctx)
	s.pace.done(time.Now(), threadTime()-began, free, room, whole)
	return err
}

// names measures /work and ends a run that passes the bound twice in a row: the second time without what a
// survey of open files may have found of what has gone since.
func (d *watchdog) names() *survey {
	ruler := outputs.NewRuler(d.work, d.links, false)
	return &survey{pace: pacer{links: true}, do: func(ctx context.Context) (outputs.Extent, bool, error) {
		var known []outputs.Inode
		if list := d.unnamed.Load(); list != nil {
			known = *list
		}
		got, whole, err := ruler.Measure(ctx, d.bound, known)
		if err == nil && got.Exceeds(d.bound) {
			whole = false
			got, err = d.confirm(ctx, ruler)
		}
		if err != nil {
			return d.room(), false, err
		}
		d.saw(got)
		if got.Exceeds(d.bound) {
			d.end(finding{full: &got})
		}
		return d.room(), whole, nil
	}}
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

// openFiles surveys what is open and has no name. Its cost is the analysis' to choose, by the number of
// descriptors that it holds: so the names do not wait for it.
func (d *watchdog) openFiles() *survey {
	return &survey{do: func(context.Context) (outputs.Extent, bool, error) {
		list, err := unnamed(d.proc, d.path, d.bound.Files)
		d.unnamed.Store(&list)
		return d.room(), true, err
	}}
}

func (d *watchdog) saw(got outputs.Extent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last, d.finding.peak = got, d.finding.peak.Peak(got)
}

// room is what was left of the bound when it was measured last.
func (d *watchdog) room() outputs.Extent {
	d.mu.Lock()
	defer d.mu.Unlock()
	return outputs.Extent{Files: d.bound.Files - d.last.Files, Bytes: d.bound.Bytes - d.last.Bytes}
}

// countMost is how many names are counted of a /work that has passed its bound.
const countMost = 1_000_000

// measure adds to the end of a run what the watchdog found, and what /work takes now that nobody writes to it
// any more.
func (w *worker) measure(ctx context.Context, exit *Exit) {
	var f finding
	if w.watchdog != nil {
		f = w.watchdog.stop()
	}
	exit.WorkFull, exit.HostFull = f.full, f.short
	most := outputs.Extent{Files: max(countMost, w.job.Bound.Files), Bytes: math.MaxInt64}
	last, _, err := outputs.NewRuler(w.work, w.job.Links, true).Measure(ctx, most, nil)
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
