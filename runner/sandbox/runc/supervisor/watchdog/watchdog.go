// Package watchdog ends a run whose /work passes its bound, or whose file systems run out of the space to keep free.
package watchdog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/procs"
)

// look is the least interval of space checks, and of surveys.
const look = 50 * time.Millisecond

// Config says what a watchdog watches.
type Config struct {
	Work  *os.File // on disk; nil if the kernel enforces the bound
	Kept  []Kept
	Bound outputs.Extent
	Floor freespace.Floor
	Links map[string]string
	Proc  string   // the container's /proc
	Paths []string // of /work, as its processes see it
	Kill  func() error
}

// Watchdog ends a run whose /work exceeds its bound, or whose file systems fall below their floor. Except on a tmpfs, the
// kernel enforces no bound: an excess is seen afterwards, and killed at once, since a stopping analysis writes on.
type Watchdog struct {
	Config

	cancel  context.CancelFunc
	running sync.WaitGroup
	surveys []*survey
	unnamed atomic.Pointer[[]outputs.Inode] // result of the last survey

	mu      sync.Mutex
	last    outputs.Extent // measured
	finding Finding
}

// Kept is a directory whose file system has a floor.
type Kept struct {
	Dir *os.File
	Of  string // what it holds, for people
}

// Finding is why a watchdog ended a run; at most one of Full, Short and Err is set.
type Finding struct {
	Peak  outputs.Extent      // the largest /work seen
	Full  *outputs.Extent     // the /work that passed its bound
	Short *freespace.Shortage // the file system below its floor
	Err   error               // why the run could not be watched
}

// Start starts a watchdog.
func Start(ctx context.Context, c Config) *Watchdog {
	d := &Watchdog{Config: c}
	d.start(ctx)
	return d
}

func (d *Watchdog) start(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	d.cancel = cancel
	if d.Work != nil {
		d.surveys = []*survey{d.names(), d.openFiles()}
	}
	d.running.Go(func() { d.check(ctx, d.watch(ctx)) })
}

// check ends a run that can no longer be watched.
func (d *Watchdog) check(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		d.end(Finding{Err: err})
	}
}

// Stop stops the watchdog and returns its finding.
func (d *Watchdog) Stop() Finding {
	d.cancel()
	d.running.Wait()
	return d.finding
}

// end kills the run for the first finding.
func (d *Watchdog) end(f Finding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.finding.Full == nil && d.finding.Short == nil && d.finding.Err == nil {
		d.finding.Full, d.finding.Short, d.finding.Err = f.Full, f.Short, f.Err
	}
	if err := d.Kill(); err != nil {
		d.finding.Err = errors.Join(d.finding.Err, err)
	}
	d.cancel()
}

// survey is repeated, never concurrently with itself.
type survey struct {
	pace pacer // the survey's own while busy
	busy atomic.Bool
	do   func(context.Context) (room outputs.Extent, whole bool, err error)
}

// watch checks the free space and starts due surveys until the run has ended.
func (d *Watchdog) watch(ctx context.Context) error {
	for wait := look; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		floors, err := d.checkFloor()
		if err != nil {
			return err
		}
		surveys, err := d.begin(ctx, time.Now())
		if err != nil {
			return err
		}
		wait = max(look, min(idle, floors, surveys))
	}
}

// checkFloor ends the run if a file system is below its floor, and else returns the time before which none can be.
func (d *Watchdog) checkFloor() (wait time.Duration, err error) {
	wait = idle
	for _, k := range d.Kept {
		left, short, err := d.Floor.Look(k.Dir, k.Of)
		if err != nil {
			return 0, err
		}
		if short != nil {
			d.end(Finding{Short: short})
			return idle, nil
		}
		wait = min(wait, taken(left, bytesPerSecond))
	}
	return wait, nil
}

// begin starts due surveys concurrently, since they may take long, and returns the time to the next look.
func (d *Watchdog) begin(ctx context.Context, now time.Time) (wait time.Duration, err error) {
	if d.Work == nil {
		return idle, nil
	}
	var st unix.Statfs_t
	if err := freespace.Statfs(d.Work, &st); err != nil {
		return 0, fmt.Errorf("free space of /work: %w", err)
	}
	free := supplyOf(&st)
	wait = idle
	for _, s := range d.surveys {
		if s.busy.Load() {
			wait = look
			continue
		}
		due, full := s.pace.next(now, free)
		wait = min(wait, due, full)
		if due > 0 {
			continue
		}
		s.busy.Store(true)
		d.running.Go(func() { d.check(ctx, s.run(ctx, free)) })
	}
	return wait, nil
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
func (d *Watchdog) names() *survey {
	ruler := outputs.NewRuler(d.Work, d.Links, false)
	return &survey{pace: pacer{links: true}, do: func(ctx context.Context) (outputs.Extent, bool, error) {
		var known []outputs.Inode
		if list := d.unnamed.Load(); list != nil {
			known = *list
		}
		got, whole, err := ruler.Measure(ctx, d.Bound, known)
		if err == nil && got.Exceeds(d.Bound) {
			whole = false
			got, err = d.confirm(ctx, ruler)
		}
		if err != nil {
			return d.room(), false, err
		}
		d.saw(got)
		if got.Exceeds(d.Bound) {
			d.end(Finding{Full: &got})
		}
		return d.room(), whole, nil
	}}
}

// confirm measures again: the names, and the open files only if the names do not decide it.
func (d *Watchdog) confirm(ctx context.Context, ruler *outputs.Ruler) (outputs.Extent, error) {
	got, _, err := ruler.Measure(ctx, d.Bound, nil)
	if err != nil || got.Exceeds(d.Bound) {
		return got, err
	}
	list, err := procs.Unnamed(d.Proc, d.Paths, d.Bound.Files)
	if err != nil {
		return got, err
	}
	got, _, err = ruler.Measure(ctx, d.Bound, list)
	return got, err
}

// openFiles surveys open files without a name. The analysis controls the cost through its number of descriptors, so the
// survey of names does not wait for it.
func (d *Watchdog) openFiles() *survey {
	return &survey{do: func(context.Context) (outputs.Extent, bool, error) {
		list, err := procs.Unnamed(d.Proc, d.Paths, d.Bound.Files)
		d.unnamed.Store(&list)
		return d.room(), true, err
	}}
}

func (d *Watchdog) saw(got outputs.Extent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last, d.finding.Peak = got, d.finding.Peak.Peak(got)
}

// room is what was left of the bound at the last survey.
func (d *Watchdog) room() outputs.Extent {
	d.mu.Lock()
	defer d.mu.Unlock()
	return outputs.Extent{Files: d.Bound.Files - d.last.Files, Bytes: d.Bound.Bytes - d.last.Bytes}
}
