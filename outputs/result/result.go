package result

import (
	"encoding/json"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Result is what `run --json` and `show --json` print. Readers ignore unknown fields; fields are only
// added.
type Result struct {
	V        int           `json:"v"` // 1
	ID       string        `json:"id"`
	Attempt  int           `json:"attempt"`
	State    catalog.State `json:"state"`
	Reason   Reason        `json:"reason"`
	Message  string        `json:"message"`
	ExitCode int           `json:"exit_code"`
	Signal   *string       `json:"signal"`

	CreatedAt  *time.Time `json:"created_at"`
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`

	Report

	Outputs          []Output   `json:"outputs"`
	Rejected         []Rejected `json:"rejected"`
	OutputsTotal     int64      `json:"outputs_total"`
	RejectedTotal    int64      `json:"rejected_total"`
	ListingTruncated bool       `json:"listing_truncated"`

	// Audit lists what the analysis tried and was refused, at most 100 events; AuditTotal is how many there are.
	Audit      []AuditEvent `json:"audit"`
	AuditTotal int          `json:"audit_total"`

	// Pinned keeps rm and retention from the run; OutputsRemovedAt is when retention removed what outputs hold.
	Pinned           bool       `json:"pinned"`
	OutputsRemovedAt *time.Time `json:"outputs_removed_at,omitempty"`

	// ReusedFrom is "ID@ATTEMPT" of this run where it answers a request of the same action: nothing was run then.
	ReusedFrom string `json:"reused_from,omitempty"`

	Labels      map[string]string `json:"labels,omitempty"`
	Host        string            `json:"host"`
	BootID      string            `json:"boot_id"`
	ToolVersion string            `json:"tool_version"`
	Analysis    json.RawMessage   `json:"analysis"`
}

// Report is the part of a result that the catalog keeps as one document.
type Report struct {
	Usage    Usage    `json:"usage"`
	Evidence Evidence `json:"evidence"`
	// Series is the use over time of a run that has begun and ended.
	Series   *Series       `json:"series,omitempty"`
	Enforced []Enforcement `json:"enforced"`
	Sandbox  Sandbox       `json:"sandbox"`
	Logs     Logs          `json:"logs"`
	Script   *Script       `json:"script,omitempty"`
	// ActionID is the digest of all that decides what the analysis makes, nil where not all of that is known.
	ActionID *string `json:"action_id"`
	// Inputs are what the analysis could read; nil where it did not begin.
	Inputs []Input `json:"inputs,omitempty"`
	// PostProcess is nil where no hook was due.
	PostProcess *PostProcess `json:"post_process"`
	// Kept is the directory of a run whose working directory was kept.
	Kept string `json:"kept,omitempty"`
	// Warnings are sentences that do not change the state.
	Warnings []string `json:"warnings,omitempty"`
}

// Usage is what a run used.
type Usage struct {
	// WallMS is without SuspendedMS, for which the analysis was suspended.
	WallMS          int64 `json:"wall_ms"`
	SuspendedMS     int64 `json:"suspended_ms,omitempty"`
	CPUMS           int64 `json:"cpu_ms"`
	MemoryPeakBytes int64 `json:"memory_peak_bytes"`
	PidsPeak        int64 `json:"pids_peak"`
	// WorkBytes and WorkFiles are the most that was seen in /work, bytes as they are allocated.
	WorkBytes int64 `json:"work_bytes"`
	WorkFiles int64 `json:"work_files"`
	// Sampled names the fields for which the kernel has no counter here: they are the greatest of samples that
	// were taken at the start and once a second, and less than what came between two.
	Sampled []string `json:"sampled,omitempty"`
}

// Evidence holds the kernel's own counters, and what the watchdog saw where it ended the run.
type Evidence struct {
	OOMKills   int64 `json:"oom_kills"`
	PidsDenied int64 `json:"pids_denied"`
	// ThrottledMS is for how long the CPU limit held the analysis back, summed over processors. Kernels count
	// it differently and may leave some out: whether it was held back at all is told by ThrottledPeriods,
	// those of the Periods of 100 ms in which it ran that came to the limit.
	ThrottledMS      int64 `json:"throttled_ms"`
	ThrottledPeriods int64 `json:"throttled_periods"`
	Periods          int64 `json:"periods"`
	// WorkBytes and WorkFiles were seen in /work when it passed its bound.
	WorkBytes int64 `json:"work_bytes,omitempty"`
	WorkFiles int64 `json:"work_files,omitempty"`
	// HostFree is what a file system had free when that was below HostFloor, in bytes.
	HostFree  int64 `json:"host_free_bytes,omitempty"`
	HostFloor int64 `json:"host_floor_bytes,omitempty"`
	// OOMLimit is left out where the kernel has killed nothing.
	OOMLimit *OOMLimit `json:"oom_limit,omitempty"`
}

// The limits at which the kernel kills for lack of memory.
const (
	OOMOwn     = "cgroup"  // that of the run's own control group
	OOMOuter   = "outer"   // that of a group around it
	OOMEither  = "either"  // one of these two; cgroup v1 does not tell which
	OOMUnknown = "unknown" // the host's memory, or a group that cannot be seen or told from others
)

// OOMLimit says whose memory ran out when the kernel killed.
type OOMLimit struct {
	By    string `json:"by"`
	Bytes int64  `json:"bytes"` // 0 with either and unknown
}

// Enforcement says what held a limit: cgroup, outer, rlimit, tmpfs, watchdog or none.
type Enforcement struct {
	Limit     string `json:"limit"`
	Asked     string `json:"asked"`
	Effective string `json:"effective"`
	By        string `json:"by"`
}

// The words of Enforcement.By that this version uses.
const (
	ByCgroup   = "cgroup"
	ByOuter    = "outer"
	ByRlimit   = "rlimit"
	ByTmpfs    = "tmpfs"
	ByWatchdog = "watchdog"
	ByNone     = "none"
)

// Held reports whether anything holds the limit.
func (e Enforcement) Held() bool { return e.By != ByNone }

// Sandbox says what the analysis ran in.
type Sandbox struct {
	UserNamespace bool   `json:"user_namespace"`
	Network       string `json:"network"` // "none"
	Seccomp       string `json:"seccomp"` // "enforced"
	// Rootfs is "host", the name of an image or the path of a directory. The other three are an image's:
	// the digest of its root filesystem as it was checked, where the image came from, with the digest of its
	// manifest, and the digest of its list of packages where it has one.
	Rootfs          string  `json:"rootfs"`
	RootfsDigest    *string `json:"rootfs_digest"`
	RootfsReference *string `json:"rootfs_reference"`
	PackagesDigest  *string `json:"packages_digest"`
	UIDOnHost       int     `json:"uid_on_host"`
	// IDs is "range" where the host ids were the run's own, "self" where they were the caller's.
	IDs string `json:"ids"`
	// SocketWall is what keeps sockets and FIFOs in bound directories out of reach: "overlay", also those
	// made later; "scan", there were none at the start. It is left out where no directory is bound.
	SocketWall string `json:"socket_wall,omitempty"`
	// Audit is "on", or "off" where it was switched off: then the list of events says nothing.
	Audit string `json:"audit"`
	// AddressRandomization is "off" where the kernel confirmed it for a deterministic run, "on" where it did not; it is left
	// out of others.
	AddressRandomization string `json:"address_randomization,omitempty"`
	// Groups are supplementary groups of the caller that a single-id mapping could not drop.
	Groups []int `json:"groups,omitempty"`
}

// Logs of the two streams.
type Logs struct {
	Stdout Log `json:"stdout"`
	Stderr Log `json:"stderr"`
}

// Log is one stream as kept: Bytes were written by the analysis, at most --log-size are kept.
type Log struct {
	Bytes     int64  `json:"bytes"`
	Truncated bool   `json:"truncated"`
	SHA256    string `json:"sha256"` // of what is kept; empty where nothing was written
}

// Script is the script of the run as kept.
type Script struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Output is one harvested file.
type Output struct {
	Path      string `json:"path"`               // escaped where it is not UTF-8
	PathB64   string `json:"path_b64,omitempty"` // the exact bytes, only where they are not UTF-8
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	MediaType string `json:"media_type"`
	Mode      string `json:"mode"` // "0644"
	Partial   bool   `json:"partial"`
}

// Rejected is one entry of the working directory that is no output.
type Rejected struct {
	Path    string `json:"path"`
	PathB64 string `json:"path_b64,omitempty"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail,omitempty"`
}
