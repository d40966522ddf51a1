// Package report makes a page of a run for people: one HTML file that loads nothing and executes nothing, whatever the
// run's outputs hold. It is pure: what is to be told comes in as a Run, contents come from a store of blobs, and the page
// goes to a writer.
//
// Outputs, logs, names and messages are the work of an adversary, and the reader's browser is what they may not reach:
//
//   - all text goes through html/template and, before that, through pieces (text.go), which makes visible what does not
//     print or reorders text;
//   - an image is one by its contents, never by its name, and its size is known before it is embedded (figure.go);
//   - SVG is embedded as an image, for which browsers execute and load nothing, and only where it has nothing to execute
//     or load (svg.go);
//   - the page forbids the browser everything but its own style, by its digest, and data: images (render.go).
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/scidex-ai/scidex-oci/spec"
)

// Blobs is the store that the contents come from. Open returns an error that is fs.ErrNotExist for what it does not have;
// the read that reaches the end returns an error where the contents are not those of the digest.
type Blobs interface {
	Open(sha256 string) (io.ReadCloser, error)
}

// Run is what a page tells of: the result as `show --json` prints it (docs/schema/result.json, which says what the fields
// mean), as far as a page shows it.
type Run struct {
	ID       string  `json:"id"`
	Attempt  int     `json:"attempt"`
	State    string  `json:"state"`
	Reason   string  `json:"reason"`
	Message  string  `json:"message"`
	ExitCode int     `json:"exit_code"`
	Signal   *string `json:"signal"`

	CreatedAt  *time.Time `json:"created_at"`
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`

	Usage       Usage         `json:"usage"`
	Evidence    Evidence      `json:"evidence"`
	Series      *Series       `json:"series"`
	Enforced    []Enforcement `json:"enforced"`
	Sandbox     Sandbox       `json:"sandbox"`
	Logs        Logs          `json:"logs"`
	Script      *Script       `json:"script"`
	PostProcess *PostProcess  `json:"post_process"`
	Warnings    []string      `json:"warnings"`

	Inputs        []Input    `json:"inputs"`
	Outputs       []Output   `json:"outputs"`
	Rejected      []Rejected `json:"rejected"`
	OutputsTotal  int64      `json:"outputs_total"`
	RejectedTotal int64      `json:"rejected_total"`
	Audit         []Event    `json:"audit"`
	AuditTotal    int        `json:"audit_total"`

	OutputsRemovedAt *time.Time        `json:"outputs_removed_at"`
	Labels           map[string]string `json:"labels"`
	Host             string            `json:"host"`
	ToolVersion      string            `json:"tool_version"`
	Analysis         json.RawMessage   `json:"analysis"`
}

// Usage is what the run used: times in milliseconds, sizes in bytes.
type Usage struct {
	WallMS          int64    `json:"wall_ms"`
	SuspendedMS     int64    `json:"suspended_ms"`
	CPUMS           int64    `json:"cpu_ms"`
	MemoryPeakBytes int64    `json:"memory_peak_bytes"`
	PidsPeak        int64    `json:"pids_peak"`
	WorkBytes       int64    `json:"work_bytes"`
	WorkFiles       int64    `json:"work_files"`
	Sampled         []string `json:"sampled"`
}

// Evidence is what the kernel counted, and the watchdog saw.
type Evidence struct {
	OOMKills         int64     `json:"oom_kills"`
	PidsDenied       int64     `json:"pids_denied"`
	ThrottledMS      int64     `json:"throttled_ms"`
	ThrottledPeriods int64     `json:"throttled_periods"`
	Periods          int64     `json:"periods"`
	WorkBytes        int64     `json:"work_bytes"`
	WorkFiles        int64     `json:"work_files"`
	HostFree         int64     `json:"host_free_bytes"`
	HostFloor        int64     `json:"host_floor_bytes"`
	OOMLimit         *OOMLimit `json:"oom_limit"`
}

// OOMLimit says whose memory ran out.
type OOMLimit struct {
	By    string `json:"by"`
	Bytes int64  `json:"bytes"`
}

// Series is the use over time, a column for each figure.
type Series struct {
	Source      string  `json:"source"`
	TMS         []int64 `json:"t_ms"`
	MemoryBytes []int64 `json:"memory_bytes"`
	CPUMS       []int64 `json:"cpu_ms"`
	Pids        []int64 `json:"pids"`
}

// Enforcement says what held a limit.
type Enforcement struct {
	Limit     string `json:"limit"`
	Asked     string `json:"asked"`
	Effective string `json:"effective"`
	By        string `json:"by"`
}

// Sandbox says what the analysis ran in.
type Sandbox struct {
	Network         string  `json:"network"`
	Seccomp         string  `json:"seccomp"`
	Rootfs          string  `json:"rootfs"`
	RootfsDigest    *string `json:"rootfs_digest"`
	RootfsReference *string `json:"rootfs_reference"`
	PackagesDigest  *string `json:"packages_digest"`
	UIDOnHost       int     `json:"uid_on_host"`
	IDs             string  `json:"ids"`
	Audit           string  `json:"audit"`
}

// Logs of the two streams.
type Logs struct {
	Stdout Log `json:"stdout"`
	Stderr Log `json:"stderr"`
}

// Log is one stream as kept.
type Log struct {
	Bytes     int64  `json:"bytes"`
	Truncated bool   `json:"truncated"`
	SHA256    string `json:"sha256"`
}

// Script is the script as kept.
type Script struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// PostProcess is what the hook did.
type PostProcess struct {
	Command   []string   `json:"command"`
	ExitCode  *int       `json:"exit_code"`
	TimedOut  bool       `json:"timed_out"`
	StartedAt *time.Time `json:"started_at"`
	WallMS    int64      `json:"wall_ms"`
}

// Input is something that the analysis could read.
type Input struct {
	Flag        string `json:"flag"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Digested    string `json:"digested"` // "content", "listing" or "none"
	SHA256      string `json:"sha256"`
	Files       int64  `json:"files"`
	Bytes       int64  `json:"bytes"`
	Changed     bool   `json:"changed"`
	Message     string `json:"message"`
}

// Output is one harvested file.
type Output struct {
	Path      string `json:"path"`
	PathB64   string `json:"path_b64"` // the exact bytes, where they are no UTF-8
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	MediaType string `json:"media_type"`
	Partial   bool   `json:"partial"`
}

// Rejected is one entry of the working directory that is no output.
type Rejected struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// Event is something that the analysis tried.
type Event struct {
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`
	Address  string    `json:"address"`
	Severity string    `json:"severity"`
	Blocked  bool      `json:"blocked"`
	Count    int64     `json:"count"`
}

// Parse reads a result.
func Parse(result []byte) (Run, error) {
	var run Run
	if err := json.Unmarshal(result, &run); err != nil {
		return run, fmt.Errorf("result: %w", err)
	}
	return run, nil
}

// Write writes the page of a run. An error is that of w: what is missing or broken in the store is told in the page.
func Write(w io.Writer, run Run, blobs Blobs) error {
	return render(w, "run.html", newPage(run, blobs, none{}))
}

// name is what to type for the run.
func (r Run) name() string { return fmt.Sprintf("%s@%d", r.ID, r.Attempt) }

// request is the analysis as it was run; a zero one where it is of another version.
func (r Run) request() (a spec.Analysis) {
	if json.Unmarshal(r.Analysis, &a) != nil {
		return spec.Analysis{}
	}
	return a
}
