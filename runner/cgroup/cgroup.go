// Package cgroup enforces a run's memory, CPU and process limits with control groups: it finds where a group can be made,
// makes it, sets the limits, reads them back, and reads the kernel's counters after the run. It uses plain files;
// only systemd is asked for a scope over D-Bus (docs/adr/0004).
package cgroup

import "time"

// Limits of a group.
type Limits struct {
	Memory int64   // bytes, without swap
	CPUs   float64 // cores; 0 without the cpu controller
	Pids   int64   // processes and threads
}

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

// hierarchy is a group in one of the two versions of the interface.
type hierarchy interface {
	set(Limits) error
	effective() (Limits, error) // as read back from the kernel
	holdsSwap() bool
	usage() (Usage, error)
	evidence() (Evidence, error)
	// onOOM calls struck after each shortage of memory until it returns true, if the kernel does not kill the whole
	// group itself. It returns a function that ends this.
	onOOM(struck func() bool) (stop func() error, err error)
	kill() error
}
