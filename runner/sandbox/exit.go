package sandbox

import (
	"syscall"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/audit"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
)

// Exit is how a run ended, as the supervisor saw it. It is part of the exit record on disk (phase.Ended).
type Exit struct {
	Executed bool          `json:"executed"`
	Errno    syscall.Errno `json:"errno,omitempty"` // of execve
	Ended    bool          `json:"ended"`           // Status is the analysis' own
	// Ahead says that the command was started ahead (Job.Ahead).
	Ahead bool `json:"ahead,omitempty"`
	// Unhooked says that the command was killed before its turn because the hook did not report. The command may have executed
	// the script.
	Unhooked bool               `json:"unhooked,omitempty"`
	Status   syscall.WaitStatus `json:"status"`
	TimedOut bool               `json:"timed_out"`
	// Writers says that processes killed at the end of the analysis had files of /work open for writing. The supervisor
	// knows which; if Unseen, any file may have been.
	Writers bool `json:"writers,omitempty"`
	Unseen  bool `json:"unseen,omitempty"`
	// FixedAddresses says that the kernel has confirmed it.
	FixedAddresses bool          `json:"fixed_addresses,omitempty"`
	CPU            time.Duration `json:"cpu"`
	// MemoryPeak is the greatest resident set of one process, in bytes.
	MemoryPeak int64 `json:"memory_peak"`
	// Audit lists the connection attempts; AuditError says why it may be incomplete.
	Audit      []audit.Event `json:"audit,omitempty"`
	AuditError string        `json:"audit_error,omitempty"`
	// Work is the largest /work seen: at the end and, on disk, before.
	Work outputs.Extent `json:"work"`
	// Names is how many /work had at the end; 0: it is not known.
	Names int64 `json:"names,omitempty"`
	// WorkFull is the size of /work that passed its bound.
	WorkFull *outputs.Extent `json:"work_full,omitempty"`
	// NoSpace says that a tmpfs at /work was out of blocks or inodes at the end.
	NoSpace bool `json:"no_space,omitempty"`
	// HostFull is why the run was ended to keep space free.
	HostFull *freespace.Shortage `json:"host_full,omitempty"`
	// WatchError says that the bounds could not be watched, or /work not be measured at the end, and why.
	WatchError string `json:"watch_error,omitempty"`
	// Started and Finished are as far apart as the monotonic clock says, whatever the date became in between.
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Scratch names files that the analysis left outside /work, where they are lost: some, inside paths.
	Scratch []string `json:"scratch,omitempty"`
	// Suspended is the time spent suspended between Started and Finished.
	Suspended time.Duration `json:"suspended,omitempty"`
}

// Succeeded reports whether the analysis ended by itself, with 0.
func (e Exit) Succeeded() bool { return e.Ended && e.Status.Exited() && e.Status.ExitStatus() == 0 }

// RanFull reports whether lack of space may have cut off the analysis in the middle of a file.
func (e Exit) RanFull() bool {
	return e.WorkFull != nil || e.HostFull != nil || e.NoSpace && !e.Succeeded()
}

// Date moves all times to the launcher's, by which the analysis started at that moment, or has finished now if it did not start: the
// date of the supervisor's clock may have been set.
func (e *Exit) Date(started, now time.Time) {
	finished := now
	if !started.IsZero() && !e.Started.IsZero() {
		finished = started.Add(e.Finished.Sub(e.Started))
	}
	shift := finished.Sub(e.Finished)
	if !e.Started.IsZero() {
		e.Started = e.Started.Add(shift)
	}
	e.Finished = e.Finished.Add(shift)
	for i := range e.Audit {
		e.Audit[i].At = e.Audit[i].At.Add(shift)
	}
}

// Usage is a run's use as seen in the container's /proc, if no control group reports it.
type Usage struct {
	Memory    int64 `json:"memory"`    // bytes, sum of resident sets: shared pages count more than once
	Processes int64 `json:"processes"` // including threads, like the limit
	// CPU is user and system time of the live processes and of those they waited for.
	CPU time.Duration `json:"cpu"`
}
