package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/audit"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// The messages, in a run's order. The launcher sends job, start, suspend, resume, stop, kill, harvest and clean; the
// supervisor answers each but stop with its past participle, or with failed. An analysis that is being stopped is not
// suspended: suspend is answered with resumed. After exited neither is answered.
const (
	msgReady     = "ready"
	msgJob       = "job"
	msgCreated   = "created" // with pidfd, standard output and standard error
	msgStart     = "start"
	msgStarted   = "started"
	msgUsage     = "usage"
	msgSuspend   = "suspend"
	msgSuspended = "suspended" // with an error if something still runs
	msgResume    = "resume"
	msgResumed   = "resumed"
	msgStop      = "stop"
	msgKill      = "kill"
	msgKilled    = "killed" // the supervisor has killed the analysis, unasked or as asked; before exited
	msgExited    = "exited"
	msgHarvest   = "harvest"
	msgEntries   = "entries"
	msgHarvested = "harvested"
	msgClean     = "clean" // with the working directory
	msgCleaned   = "cleaned"
	msgSession   = "session" // with the supervisor's end of another run's connection; answered there with ready
	msgEnded     = "ended"   // the last of a session, after the launcher shut down its side
	msgFailed    = "failed"
)

type message struct {
	Type    string          `json:"type"`
	Error   string          `json:"error,omitempty"`
	Job     *Job            `json:"job,omitempty"`
	Bulk    []int           `json:"bulk,omitempty"` // of the job
	Exit    *Exit           `json:"exit,omitempty"`
	Usage   *Usage          `json:"usage,omitempty"`
	Harvest *Harvest        `json:"harvest,omitempty"`
	Entries []outputs.Entry `json:"entries,omitempty"`
	Totals  *outputs.Totals `json:"totals,omitempty"`
	Clean   *clean          `json:"clean,omitempty"`
	At      time.Time       `json:"at,omitzero"`
	// Walls comes with created.
	Walls Walls `json:"walls,omitzero"`
	// Spans are the supervisor's trace since its last message.
	Spans []trace.Span `json:"spans,omitempty"`

	files []*os.File
	torn  bool // descriptors were lost: the process is at its limit (recvmsg(2), MSG_CTRUNC)
}

// failure returns the reported error, if any.
func (m message) failure() error {
	if m.Error == "" {
		return nil
	}
	return errors.New(m.Error)
}

// Job is one run as the supervisor needs it. Descriptors are indices into the files sent with it.
type Job struct {
	ID string `json:"id"`
	// FixedAddresses disables address space randomisation.
	FixedAddresses bool `json:"fixed_addresses,omitempty"`
	// Spec is the OCI specification without the filter of system calls; the supervisor makes its binds and fills in the
	// sources.
	Spec *specs.Spec `json:"spec"`
	// Filter is that filter's program (runner/filter).
	Filter []byte `json:"filter"`
	// Tree is the root filesystem, and Base its Base when it was opened; nil if it has none.
	Tree rootfs.Tree `json:"tree"`
	Base *Bind       `json:"base,omitempty"`
	// Hold is a file to keep open while anything of the run lives; 0: none.
	Hold int `json:"hold,omitempty"`
	// Binds are the run's read-only binds, beside the tree's.
	Binds []Bind `json:"binds,omitempty"`
	// Script is put into the root filesystem, which the analysis only reads; nil: none.
	Script *Script `json:"script,omitempty"`
	// WorkPath is the working directory; file 0 is its descriptor and file 1 that of the ingest directory.
	WorkPath string `json:"work_path"`
	// WorkMount is the file of the working directory's detached mount; 0: bind WorkPath.
	WorkMount int `json:"work_mount,omitempty"`
	// Links are made in the working directory unless their names exist.
	Links map[string]string `json:"links,omitempty"`
	// Audit says that connection attempts are recorded.
	Audit bool `json:"audit,omitempty"`
	// Crowded says that the analysis and the supervisor share a process limit.
	Crowded bool `json:"crowded,omitempty"`
	// Owner is the analysis' id in the outer namespace.
	Owner int `json:"owner"`
	// Bound limits /work.
	Bound outputs.Extent `json:"bound"`
	// WorkTmpfs are the options of a tmpfs at /work; nil: the working directory.
	WorkTmpfs []string `json:"work_tmpfs,omitempty"`
	// Floor is the free space to keep for the working directory and the blob store.
	Floor   freespace.Floor `json:"floor"`
	Timeout time.Duration   `json:"timeout"`
	Grace   time.Duration   `json:"grace"`
}

// Bind is one read-only bind of a run. The launcher has opened and checked Source; the supervisor binds it only if its
// inode is the same.
type Bind struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Directory   bool   `json:"directory"`
	Dev         uint64 `json:"dev"`
	Ino         uint64 `json:"ino"`
	// Place is the path of a single file without symbolic links.
	Place string `json:"place,omitempty"`
	// Mount is the file of a detached mount that the launcher made, and ParentMount that of a single file's directory; 0:
	// the supervisor opens Source, and the directory of Place.
	Mount       int `json:"mount,omitempty"`
	ParentMount int `json:"parent_mount,omitempty"`
}

// Script is a copy of the launcher's: no host inode is exposed.
type Script struct {
	Path string      `json:"path"` // inside, absolute
	Mode fs.FileMode `json:"mode"` // permission bits; all may read it
	File int         `json:"file"`
}

// Exit is how a run ended, as the supervisor saw it.
type Exit struct {
	Executed bool               `json:"executed"`
	Errno    syscall.Errno      `json:"errno,omitempty"` // of execve
	Ended    bool               `json:"ended"`           // Status is the analysis' own
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
	// WorkFull is the size of /work that passed its bound.
	WorkFull *outputs.Extent `json:"work_full,omitempty"`
	// NoSpace says that a tmpfs at /work was out of blocks or inodes at the end.
	NoSpace bool `json:"no_space,omitempty"`
	// HostFull is why the run was ended to keep space free.
	HostFull *freespace.Shortage `json:"host_full,omitempty"`
	// WatchError is why the bounds could not be watched.
	WatchError string    `json:"watch_error,omitempty"`
	Started    time.Time `json:"started"`
	Finished   time.Time `json:"finished"`
	// Suspended is the time spent suspended between Started and Finished.
	Suspended time.Duration `json:"suspended,omitempty"`
}

// Usage is a run's use as seen in the container's /proc, where no control group reports it.
type Usage struct {
	Memory    int64 `json:"memory"`    // bytes, sum of resident sets: shared pages count more than once
	Processes int64 `json:"processes"` // including threads, like the limit
	// CPU is user and system time of the live processes and of those they waited for.
	CPU time.Duration `json:"cpu"`
}

// Harvest configures the harvest.
type Harvest struct {
	Bounds  outputs.Bounds `json:"bounds"`
	Exclude []string       `json:"exclude,omitempty"`
	Partial bool           `json:"partial"`
	// Link says that the working directory is removed afterwards, so its files need no copy.
	Link bool `json:"link"`
	// Resumed and Links are for a run whose supervisor is dead: see outputs.Options. Below is the name of its working
	// directory, which the launcher may not be able to reach.
	Below   string            `json:"below,omitempty"`
	Resumed bool              `json:"resumed,omitempty"`
	Links   map[string]string `json:"links,omitempty"`
}

// clean says whether the working directory's contents are removed or kept for the caller.
type clean struct {
	Keep bool `json:"keep"`
}
