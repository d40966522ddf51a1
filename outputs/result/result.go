// Package result is the one model of a run: the fields of the JSON that `run --json` and `show --json` print
// (docs/schema/result.json). Everything that reads or shows a run uses it.
package result

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// Result is what `run --json` and `show --json` print. Readers ignore unknown fields; fields are only
// added.
type Result struct {
	V       int    `json:"v"` // 1
	ID      string `json:"id"`
	Attempt int    `json:"attempt"`
	outcome.Outcome

	CreatedAt  *time.Time `json:"created_at"`
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`

	Report

	Outputs          []Output   `json:"outputs"`
	Rejected         []Rejected `json:"rejected"`
	OutputsTotal     int64      `json:"outputs_total"`
	RejectedTotal    int64      `json:"rejected_total"`
	ListingTruncated bool       `json:"listing_truncated"`

	// Audit lists the refused actions of the analysis, at most 100 events; AuditTotal is their number.
	Audit      []AuditEvent `json:"audit"`
	AuditTotal int          `json:"audit_total"`

	// Pinned blocks rm and retention; OutputsRemovedAt is when retention removed the outputs' contents.
	Pinned           bool       `json:"pinned"`
	OutputsRemovedAt *time.Time `json:"outputs_removed_at,omitempty"`

	// ReusedFrom is "ID@ATTEMPT" of this run if it answers a request of the same action: nothing was run then.
	ReusedFrom string `json:"reused_from,omitempty"`

	Labels      map[string]string `json:"labels,omitempty"`
	Host        string            `json:"host"`
	BootID      string            `json:"boot_id"`
	ToolVersion string            `json:"tool_version"`
	Analysis    json.RawMessage   `json:"analysis"`
	// Line is the number of the line of a batch that this is the result of, from 1.
	Line int `json:"line,omitempty"`
	// Ran is what the analysis ran, on one line (see the function).
	Ran string `json:"ran,omitempty"`
}

// Key names the run.
func (r Result) Key() catalog.Key { return catalog.Key{ID: r.ID, Attempt: r.Attempt} }

// Report is the part of a result that the catalog keeps as one document.
type Report struct {
	Usage    Usage    `json:"usage"`
	Evidence Evidence `json:"evidence"`
	// Series is the usage over time of a started and ended run.
	Series   *Series       `json:"series,omitempty"`
	Enforced []Enforcement `json:"enforced"`
	Sandbox  Sandbox       `json:"sandbox"`
	Logs     Logs          `json:"logs"`
	Script   *Script       `json:"script,omitempty"`
	// Stdin is what the analysis read of its standard input; nil if nothing.
	Stdin *Stdin `json:"stdin,omitempty"`
	// Start is how the analysis started; nil if it was not prepared before its turn.
	Start *Start `json:"start,omitempty"`
	// ActionID is the digest of everything that determines the results, nil if not all of it is known.
	ActionID *string `json:"action_id"`
	// Inputs are what the analysis could read; nil if it did not start.
	Inputs []Input `json:"inputs,omitempty"`
	// Requests are those to hosts; nil if none is permitted.
	Requests *Requests `json:"requests,omitempty"`
	// Statement is the signed statement of the run; nil if there is none.
	Statement *Statement `json:"statement,omitempty"`
	// PostProcess is nil if no hook was due.
	PostProcess *PostProcess `json:"post_process"`
	// Kept is the directory of a run with a kept working directory.
	Kept string `json:"kept,omitempty"`
	// Warnings are sentences that do not change the state.
	Warnings []string `json:"warnings,omitempty"`
	// Hints say what to do about the end of the run.
	Hints []Hint `json:"hints,omitempty"`
}

// Measured reports whether Usage says something: the analysis has started, and its end was seen.
func (r Result) Measured() bool { return r.StartedAt != nil && len(r.Enforced) > 0 }

// ShownBare begins the warning that an analysis saw directories of the host without an overlay. Their paths follow it.
const ShownBare = "shown as it is and not through an overlay, so that the host feels locks on it: "

// NotExported begins the warning of a run whose requested export is not whole.
const NotExported = "the export is not complete: "

// Exported is the directory that the export of a run has written to; "" if there is none, or if that is not certain.
func (r Result) Exported() string {
	var asked struct{ Export string }
	if json.Unmarshal(r.Analysis, &asked) != nil || r.Attempt == 0 || !r.State.Final() || r.State == outcome.Lost ||
		r.Reason == outcome.ReasonExport || r.Reason == outcome.ReasonCommit {
		return ""
	}
	if slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, NotExported) }) {
		return ""
	}
	return asked.Export
}

// Usage is what a run used.
type Usage struct {
	// WallMS excludes SuspendedMS, the time the analysis was suspended.
	WallMS          int64 `json:"wall_ms"`
	SuspendedMS     int64 `json:"suspended_ms,omitempty"`
	CPUMS           int64 `json:"cpu_ms"`
	MemoryPeakBytes int64 `json:"memory_peak_bytes"`
	PidsPeak        int64 `json:"pids_peak"`
	// WorkBytes and WorkFiles are the peaks in /work, in allocated bytes.
	WorkBytes int64 `json:"work_bytes"`
	WorkFiles int64 `json:"work_files"`
	// Sampled names the fields without a kernel counter here: they are the maximum of samples taken at the start and once a
	// second, and miss peaks between two.
	Sampled []string `json:"sampled,omitempty"`
}

// SampledMark marks a field for people if it is the maximum of samples and no kernel counter.
func (u Usage) SampledMark(field string) string {
	if slices.Contains(u.Sampled, field) {
		return " (sampled)"
	}
	return ""
}

// Evidence holds the kernel's own counters, and what the watchdog saw if it ended the run.
type Evidence struct {
	OOMKills   int64 `json:"oom_kills"`
	PidsDenied int64 `json:"pids_denied"`
	// ThrottledMS is how long the CPU limit throttled the analysis, summed over processors. Kernels count it differently and
	// may leave some out: ThrottledPeriods shows whether it was throttled at all: those of the Periods of 100 ms in which it
	// ran that reached the limit.
	ThrottledMS      int64 `json:"throttled_ms"`
	ThrottledPeriods int64 `json:"throttled_periods"`
	Periods          int64 `json:"periods"`
	// WorkBytes and WorkFiles were seen in /work when over its limit.
	WorkBytes int64 `json:"work_bytes,omitempty"`
	WorkFiles int64 `json:"work_files,omitempty"`
	// HostFree is a file system's free bytes when they were below HostFloor.
	HostFree  int64 `json:"host_free_bytes,omitempty"`
	HostFloor int64 `json:"host_floor_bytes,omitempty"`
	// OOMLimit is omitted if the kernel has killed nothing.
	OOMLimit *OOMLimit `json:"oom_limit,omitempty"`
}

// The limits at which the kernel kills for lack of memory.
const (
	OOMOwn     = "cgroup"  // that of the run's own control group
	OOMOuter   = "outer"   // that of a group around it
	OOMEither  = "either"  // one of these two; cgroup v1 does not say which
	OOMUnknown = "unknown" // the host's memory, or a group that is invisible or ambiguous
)

// OOMLimit says whose memory ran out when the kernel killed.
type OOMLimit struct {
	By    string `json:"by"`
	Bytes int64  `json:"bytes"` // 0 with either and unknown
}

// Enforcement is what held a limit: cgroup, outer, rlimit, tmpfs, watchdog or none.
type Enforcement struct {
	Limit     string `json:"limit"`
	Asked     string `json:"asked"`
	Effective string `json:"effective"`
	By        string `json:"by"`
}

// EnforcementOf is that of a limit; zero if the report has none.
func (r Report) EnforcementOf(limit string) Enforcement {
	for _, e := range r.Enforced {
		if e.Limit == limit {
			return e
		}
	}
	return Enforcement{}
}

// InBytes reports whether the values of a limit are numbers of bytes.
func InBytes(limit string) bool {
	return slices.Contains([]string{"memory", "work_size", "log_size", "tmp", "home", "shm"}, limit)
}

// Values of Enforcement.By in this version.
const (
	ByCgroup   = "cgroup"
	ByOuter    = "outer"
	ByRlimit   = "rlimit"
	ByTmpfs    = "tmpfs"
	ByWatchdog = "watchdog"
	ByNone     = "none"
)

// Held reports whether the limit is enforced.
func (e Enforcement) Held() bool { return e.By != ByNone }

// Sandbox is an analysis' sandbox.
type Sandbox struct {
	UserNamespace bool   `json:"user_namespace"`
	Network       string `json:"network"` // "none"; empty if there was no container, as Seccomp
	Seccomp       string `json:"seccomp"` // "enforced"
	// Landlock is the version of Landlock (landlock(7)) that held the analysis; 0 if the kernel has none, or if it did not start.
	Landlock int `json:"landlock"`
	// Rootfs is "host", the name of an image or the path of a directory. The other three are an image's: the digest of its
	// root filesystem as it was verified, its source, with the digest of its manifest, and the digest of its list of
	// packages, if any.
	Rootfs          string  `json:"rootfs"`
	RootfsDigest    *string `json:"rootfs_digest"`
	RootfsReference *string `json:"rootfs_reference"`
	PackagesDigest  *string `json:"packages_digest"`
	UIDOnHost       int     `json:"uid_on_host"`
	// IDs is "range" if the host ids were the run's own, "self" if they were the caller's.
	IDs string `json:"ids"`
	// SocketWall is what blocks sockets and FIFOs in bound directories: "overlay", also those made later; "scan", there were
	// none at the start. It is omitted if no directory is bound.
	SocketWall string `json:"socket_wall,omitempty"`
	// Audit is "on", or "off" if it was disabled: then the list of events says nothing.
	Audit string `json:"audit"`
	// AddressRandomization is "off" if the kernel confirmed it for a deterministic run, "on" if it did not; it is omitted
	// for others.
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
	SHA256    string `json:"sha256"` // of the kept part; empty if nothing was written
}

// Script is the kept script of the run.
type Script struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Stdin is the kept standard input of the run.
type Stdin struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Output is one harvested file.
type Output struct {
	Path      string `json:"path"`               // escaped if it is not UTF-8
	PathB64   string `json:"path_b64,omitempty"` // the exact bytes, only if they are not UTF-8
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
