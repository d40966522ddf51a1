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

// look is the interval of space checks, and the least between surveys.
const look = 50 * time.Millisecond

// watchdog ends a run whose /work exceeds its bound, or whose file systems fall below their floor. Except on a tmpfs, the
// kernel enforces no bound: an excess is seen afterwards, and killed at once, since a stopping analysis writes on.
type watchdog struct {
	work  *os.File // on disk; nil if the kernel enforces it
	kept  []kept
	bound outputs.Extent
	floor freespace.Floor
	links map[string]string
	proc  string
	path  string // of /work, as processes see it
	kill  func() error

	cancel  context.CancelFunc
	running sync.WaitGroup
	surveys []*survey
	unnamed atomic.Pointer[[]outputs.Inode] // result of the last survey

	mu      sync.Mutex
	last    outputs.Extent // measured
	finding finding
}

// kept is a directory whose file system has a floor.
type kept struct {
	dir *os.File
	of  string
}

// finding is why a watchdog ended a run; at most one of full, short and err is set.
type finding struct {
	peak  outputs.Extent
	full  *outputs.Extent
	short *freespace.Shortage
	err   error
}

// release starts the run's watchdog.
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

// check ends a run that can no longer be watched.
func (d *watchdog) check(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		d.end(finding{err: err})
	}
}

// stop stops the watchdog and returns its finding.
func (d *watchdog) stop() finding {
	d.cancel()
	d.running.Wait()
	return d.finding
}

// end kills the run for the first finding.
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

// survey is repeated, never concurrently with itself.
type survey struct {
	pace pacer // the survey's own while busy
	busy atomic.Bool
	do   func(context.Context) (room outputs.Extent, whole bool, err error)
}

// watch checks the free space and starts due surveys until the run has ended. It first waits in Go: most of many short
// runs end before, and a thread would cost them more than it saves.
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

// rest returns when a check has found something to do, or when the next survey is due.
func (d *watchdog) rest(level *freespace.Watch, floors []freespace.Mark) {
	resting, marks, looks := d.marks(time.Now())
	marks = append(marks, floors...)
	level.Wait(look, looks, marks)
	for i, s := range resting {
		s.pace.high = marks[i].High
	}
}

// marks returns when resting surveys become due early, and the looks until the next is due.
func (d *watchdog) marks(now time.Time) (resting []*survey, marks []freespace.Mark, looks int) {
	due := idle // then the floors are checked again
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

// checkFloor ends the run if a file system is below its floor, and else returns the marks of all.
func (d *watchdog) checkFloor() (marks []freespace.Mark, err error) {
	for _, k := range d.kept {
		mark, short, err := d.floor.Look(k.dir, k.of)
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

// begin starts due surveys concurrently: they may take long.
func (d *watchdog) begin(ctx context.Context) error {
	if d.work == nil {
		return nil
	}
	var st unix.Statfs_t
	if err := freespace.Statfs(d.work, &st); err != nil {
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
	runtime.LockOSThread() // its CPU time counts
	defer runtime.UnlockOSThread()
	began := threadTime()
	room, whole, err := s.do(ctx)
	s.pace.done(time.Now(), threadTime()-began, free, room, whole)
	return err
}

// names measures /work and ends a run that exceeds the bound twice in a row, the second time without files from the open
// file survey that are gone.
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

// confirm measures again: the names, and the open files only if the names do not decide it.
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

// openFiles surveys open files without a name. The analysis controls the cost through its number of descriptors, so the
// survey of names does not wait for it.
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

// room is what was left of the bound at the last survey.
func (d *watchdog) room() outputs.Extent {
	d.mu.Lock()
	defer d.mu.Unlock()
	return outputs.Extent{Files: d.bound.Files - d.last.Files, Bytes: d.bound.Bytes - d.last.Bytes}
}

// countMost bounds the names counted in a /work over its bound.
const countMost = 1_000_000

// measure adds the watchdog's finding to the run's end, and the size of /work now that it no longer changes.
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
