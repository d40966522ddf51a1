package doctor

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
)

// Status of a finding.
type Status string

// The statuses. Fail means that runs with these flags do not work because of it, Warn that they work with less. Skipped was
// not tried: a probe before it failed (After), or runs do not need it here.
const (
	OK      Status = "ok"
	Warn    Status = "warn"
	Fail    Status = "fail"
	Skipped Status = "skipped"
)

// Finding is the result of one probe.
type Finding struct {
	Code   string `json:"code"` // stable: "userns.unshare"
	Status Status `json:"status"`
	Seen   string `json:"seen"`  // the kernel's error where it refused
	Means  string `json:"means"` // for runs, one sentence
	// Cure and Command say what helps, as a sentence and a command; empty where all is well.
	Cure    string `json:"cure"`
	Command string `json:"command"`
	// After is the code of the failed probe for which this one was skipped.
	After string `json:"after"`
}

// as returns the finding with another status, what that means, and what helps.
func (f Finding) as(status Status, means string, remedy remedies.Remedy) Finding {
	f.Status, f.Means, f.Cure, f.Command = status, means, remedy.Sentence, remedy.Command
	return f
}

// Summary says what the findings mean for runs.
type Summary struct {
	// Run is "run works with the defaults", or what does not.
	Run string `json:"run"`
	// Limits says what limits memory, CPU, processes.
	Limits LimitsBy `json:"limits"`
	// IDs is "range", "self", or "none" where no run can start.
	IDs string `json:"ids"`
	// UIDOnHost is the host's id of an analysis; -1 where no run can start.
	UIDOnHost int `json:"uid_on_host"`
	// SocketWall is what keeps sockets in bound directories out of reach: "overlay", "scan", or "none" where no
	// run can start.
	SocketWall string `json:"socket_wall"`
}

// LimitsBy is what holds the limits of runs (runner/cgroup).
type LimitsBy string

// What holds limits, the best first.
const (
	LimitsBySystemd    LimitsBy = "systemd"     // cgroup v2 in a scope of systemd
	LimitsByDelegated  LimitsBy = "delegated"   // cgroup v2 in a delegated subtree
	LimitsByV1         LimitsBy = "v1"          // cgroup v1, as root
	LimitsByOuter      LimitsBy = "outer"       // a control group around this process
	LimitsByBestEffort LimitsBy = "best-effort" // rlimits and a watchdog
	LimitsByNone       LimitsBy = "none"        // runs are refused
)

// Report is the result of an examination; docs/schema/doctor.json describes its JSON.
type Report struct {
	V     int  `json:"v"`     // 1
	Works bool `json:"works"` // nothing failed
	probe.Stamp
	ToolVersion string    `json:"tool_version"`
	Summary     Summary   `json:"summary"`
	Findings    []Finding `json:"findings"`

	unheld []string // limits that the run left to control groups around it and that none enforces
}

// of returns the finding of a code, the zero Finding where there is none yet.
func (r *Report) of(code string) Finding {
	for _, f := range r.Findings {
		if f.Code == code {
			return f
		}
	}
	return Finding{}
}

func (r *Report) status(code string) Status { return r.of(code).Status }

// failed returns the first failure.
func (r *Report) failed() (Finding, bool) {
	for _, f := range r.Findings {
		if f.Status == Fail {
			return f, true
		}
	}
	return Finding{}, false
}

// obstacle returns the failed probe for which a probe with these needs is skipped: one of them, or the one for which one
// of them was skipped.
func (r *Report) obstacle(needs []string) (code string, ok bool) {
	for _, f := range r.Findings {
		for _, need := range needs {
			switch {
			case f.Code != need:
			case f.Status == Fail:
				return f.Code, true
			case f.Status == Skipped && f.After != "":
				return f.After, true
			}
		}
	}
	return "", false
}

// settle writes the summary. Where the run worked, what failed before it is a warning, except in the caller's root,
// catalog and blobs, which the run did not use.
func (r *Report) settle() {
	if r.status(CodeRun) == OK {
		for i, f := range r.Findings {
			if f.Status == Fail && !ofStorage(f.Code) {
				r.Findings[i].Status, r.Findings[i].Means = Warn, "this was thought to keep runs from working, and one works all the same"
			}
		}
	}
	first, failed := r.failed()
	r.Works = !failed && r.status(CodeRun) == OK
	r.Summary.Run = "run works with the defaults"
	if len(r.unheld) > 0 {
		r.Summary.Run += ", but no control group around it that can be seen holds a limit of " + strings.Join(r.unheld, ", ")
	}
	if !r.Works {
		r.Summary.Run = "run does not work with the defaults: " + first.Code + ": " + first.Seen
	}
}

// stamp completes the report.
func (r *Report) stamp(version string) (err error) {
	r.V, r.ToolVersion = 1, version
	r.Stamp, err = probe.NewStamp("osrelease")
	return err
}
