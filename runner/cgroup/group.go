package cgroup

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// Group is the control group of one run.
type Group struct {
	files  hierarchy
	dirs   []string
	limits Limits
	above  cgroupfs.Chain
	before []int64 // times the groups above had reached their limits before the run
}

// Check reads the limits back again: the manager of the groups above may have removed them.
func (g *Group) Check() error {
	got, err := g.files.effective()
	if err != nil {
		return err
	}
	return compare(g.limits, got)
}

// set sets the limits, which may not be higher than before, and reads them back. It fails if the kernel reports others.
func (g *Group) set(limits Limits) (Limits, error) {
	if err := g.files.set(limits); err != nil {
		return Limits{}, fmt.Errorf("set limits: %w", err)
	}
	got, err := g.files.effective()
	if err != nil {
		return Limits{}, fmt.Errorf("read limits back: %w", err)
	}
	g.limits = limits
	return got, compare(limits, got)
}

// compare allows for rounding: memory down to pages, a CPU quota to microseconds.
func compare(asked Limits, got Limits) error {
	page := int64(os.Getpagesize())
	switch {
	case got.Memory > asked.Memory || got.Memory <= asked.Memory-page:
		return fmt.Errorf("asked for a memory limit of %s, the kernel says %s (%d and %d bytes)", format.Size(asked.Memory), format.Size(got.Memory), asked.Memory, got.Memory)
	case got.Pids != asked.Pids:
		return fmt.Errorf("asked for a limit of %d processes, the kernel says %d", asked.Pids, got.Pids)
	case got.CPUs-asked.CPUs > 1e-4 || asked.CPUs-got.CPUs > 1e-4:
		return fmt.Errorf("asked for a limit of %g CPUs, the kernel says %g", asked.CPUs, got.CPUs)
	}
	return nil
}

// Dirs are the group's directories.
func (g *Group) Dirs() []string { return g.dirs }

// goneError says that a process moved into a group is not in it: it has ended, which is ESRCH.
type goneError struct{}

func (goneError) Error() string { return "is not there" }

func (goneError) Is(target error) bool { return target == unix.ESRCH }

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
			return fmt.Errorf("process %d was moved into control group %s and %w", pid, dir, goneError{})
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
	for pause := (backoff.Backoff{First: time.Millisecond, Longest: 50 * time.Millisecond}); ; time.Sleep(pause.Next()) {
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
	}
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

// WatchOOM calls kill once when the out-of-memory killer strikes in a v1 group, where, unlike v2 with memory.oom.group,
// the other processes keep running. It returns a function that ends the watch. On v2 it does nothing.
func (g *Group) WatchOOM(kill func()) (stop func() error, err error) {
	return g.files.onOOM(func() bool {
		struck := g.killed()
		if struck {
			kill()
		}
		return struck
	})
}

// killed reports whether the out-of-memory killer has struck. The event comes when memory runs out, the counter moves a
// moment later, when a process has been chosen.
func (g *Group) killed() bool {
	for range 100 {
		if e, err := g.Evidence(); err != nil || e.OOMKills > 0 {
			return err == nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// Swapping reports whether the host has swap that the group's memory limit does not count: its kernel does no swap
// accounting (CONFIG_MEMCG_SWAP, swapaccount=0).
func (g *Group) Swapping() bool { return g.swapping("/proc") }

func (g *Group) swapping(proc string) bool { return !g.files.holdsSwap() && cgroupfs.HostSwaps(proc) }
