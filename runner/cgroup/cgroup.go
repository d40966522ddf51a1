// Package cgroup enforces a run's memory, CPU and process limits with control groups: it finds where a group can be made,
// makes it, sets the limits, reads them back, and reads the kernel's counters after the run. It uses plain files
// (docs/adr/0004); D-Bus only asks systemd for a scope (docs/adr/0008).
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/shortage"
)

// Limits of a group.
type Limits struct {
	Memory int64   // bytes, without swap
	CPUs   float64 // cores; 0 without the cpu controller
	Pids   int64   // processes and threads
}

// Effective are the limits as read back from the kernel.
type Effective = Limits

// Usage of a group. A peak that the kernel does not record is 0.
type Usage struct {
	Memory, MemoryPeak int64 // bytes
	Pids, PidsPeak     int64
	CPU                time.Duration
}

// Evidence is the counters of reached limits.
type Evidence struct {
	OOMKills   int64
	PidsDenied int64
	// Throttled is the time spent throttled at the CPU quota, summed over CPUs. Since Linux 6.18 it starts only when a
	// thread is taken off on its way out of the kernel, and all kernels add it when the group resumes: it may be short,
	// even 0. The periods are exact.
	Throttled time.Duration
	// Periods counts the CPU quota periods in which the group ran (Documentation/scheduler/sched-bwc.rst),
	// ThrottledPeriods those that reached the quota.
	Periods, ThrottledPeriods int64
	// Shortage says which group was out of memory, after a kill by the kernel.
	Shortage Shortage
}

// Shortage is a lack of memory. With neither field set the host was out of memory, or a group not visible here; with
// both, on version 1, it is unknown which of the two limits it was.
type Shortage struct {
	Own   bool  // the run's own group was at its limit
	Outer int64 // limit in bytes of an outer group that was at it
}

// Group is the control group of one run.
type Group struct {
	files  hierarchy
	dirs   []string
	limits Limits
	above  shortage.Groups
	before []int64 // times the groups above had reached their limits before the run
}

// hierarchy abstracts the two versions of the interface.
type hierarchy interface {
	set(Limits) error
	effective() (Effective, error)
	holdsSwap() bool
	usage() (Usage, error)
	evidence() (Evidence, error)
	kill() error
}

// New makes the group name below parent, sets its limits and reads them back. It fails if the kernel reports another
// limit.
func (p *Parent) New(name string, limits Limits) (_ *Group, _ Effective, err error) {
	g := &Group{limits: limits}
	for _, dir := range p.Plan(name) {
		if err := os.Mkdir(dir, 0o755); err != nil { // an existing one is another run's
			return nil, Effective{}, errors.Join(fmt.Errorf("make control group: %w", err), g.Remove())
		}
		g.dirs = append(g.dirs, dir)
	}
	g.files, g.above = p.open(name), p.above()
	g.before = g.above.Reached()
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Remove())
		}
	}()
	if err := g.files.set(limits); err != nil {
		return nil, Effective{}, fmt.Errorf("set limits: %w", err)
	}
	got, err := g.files.effective()
	if err != nil {
		return nil, Effective{}, fmt.Errorf("read limits back: %w", err)
	}
	return g, got, compare(limits, got)
}

// Check reads the limits back again: the manager of the groups above may have removed them.
func (g *Group) Check() error {
	got, err := g.files.effective()
	if err != nil {
		return err
	}
	return compare(g.limits, got)
}

// compare allows for rounding: memory down to pages, a CPU quota to microseconds.
func compare(asked Limits, got Effective) error {
	page := int64(os.Getpagesize())
	switch {
	case got.Memory > asked.Memory || got.Memory <= asked.Memory-page:
		return fmt.Errorf("asked for a memory limit of %d bytes, the kernel says %d", asked.Memory, got.Memory)
	case got.Pids != asked.Pids:
		return fmt.Errorf("asked for a limit of %d processes, the kernel says %d", asked.Pids, got.Pids)
	case got.CPUs-asked.CPUs > 1e-4 || asked.CPUs-got.CPUs > 1e-4:
		return fmt.Errorf("asked for a limit of %g CPUs, the kernel says %g", asked.CPUs, got.CPUs)
	}
	return nil
}

// Dirs are the group's directories.
func (g *Group) Dirs() []string { return g.dirs }

// ErrGone says that a process moved into a group is not in it: it has ended.
var ErrGone = errors.New("is not there")

// Add moves a process, with all its threads, into the group, and verifies it.
func (g *Group) Add(pid int) error {
	for _, dir := range g.dirs {
		if err := cgroupfs.Write(dir, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("move process %d into its control group: %w", pid, err)
		}
		pids, err := cgroupfs.Pids(dir)
		if err != nil {
			return err
		}
		if !slices.Contains(pids, pid) {
			return fmt.Errorf("process %d was moved into control group %s and %w", pid, dir, ErrGone)
		}
	}
	return nil
}

// Usage reads the group's present use.
func (g *Group) Usage() (Usage, error) { return g.files.usage() }

// Evidence reads the group's counters. Read them before Remove.
func (g *Group) Evidence() (Evidence, error) {
	e, err := g.files.evidence()
	if e.OOMKills > 0 && (!e.Shortage.Own || !g.above.Unified) { // version 2 is certain
		e.Shortage.Outer = g.above.Limit(g.before, g.above.Reached())
	}
	return e, err
}

// Empty kills all processes left in the group and waits for them to end, at most for the given time.
func (g *Group) Empty(wait time.Duration) error {
	deadline := time.Now().Add(wait)
	for pause := time.Millisecond; ; pause *= 2 {
		left, err := processes(g.dirs)
		if err != nil || left == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes are left in control group %s", left, g.dirs[0])
		}
		if err := g.files.kill(); err != nil {
			return err
		}
		time.Sleep(min(pause, 50*time.Millisecond))
	}
}

// Remove removes the group; it must be empty. A missing group is no error.
func (g *Group) Remove() error { return RemoveDirs(g.dirs) }

// RemoveDirs removes the directories of an empty group, such as those in a state file (gc).
func RemoveDirs(dirs []string) error {
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, removeDir(dir))
	}
	return errors.Join(errs...)
}

// removeDir retries: an exiting process keeps its group busy for a moment.
func removeDir(dir string) error {
	var err error
	for pause := time.Millisecond; pause < time.Second; pause *= 2 {
		err = unix.Rmdir(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("remove control group %s: %w", dir, err)
}

func processes(dirs []string) (int, error) {
	n := 0
	for _, dir := range dirs {
		pids, err := cgroupfs.Pids(dir)
		if err != nil {
			return 0, err
		}
		n = max(n, len(pids))
	}
	return n, nil
}

// throttling reads cpu.stat, whose time has another name and unit in each version.
func (e *Evidence) throttling(dir, key string, unit time.Duration) error {
	values, err := cgroupfs.Keys(dir, "cpu.stat", "nr_periods", "nr_throttled", key)
	e.Periods, e.ThrottledPeriods, e.Throttled = values[0], values[1], time.Duration(values[2])*unit
	return err
}
