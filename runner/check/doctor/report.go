package doctor

import (
	"os"
	"strings"
	"time"
)

// Status of a finding.
type Status string

// The statuses. Fail is only said where runs with these flags do not work because of it; Warn where they work and
// have less. Skipped was not tried: something before it failed (After), or nobody needs it here.
const (
	OK      Status = "ok"
	Warn    Status = "warn"
	Fail    Status = "fail"
	Skipped Status = "skipped"
)

// Finding is what one probe came to.
type Finding struct {
	Code   string `json:"code"` // stable: "userns.unshare"
	Status Status `json:"status"`
	Seen   string `json:"seen"`  // in the kernel's words where it refused
	Means  string `json:"means"` // for runs, one sentence
	// Cure and Command are one sentence and one command; empty where nothing is to be cured.
	Cure    string `json:"cure"`
	Command string `json:"command"`
	// After is the code of the failed probe because of which this was not tried.
	After string `json:"after"`
}

// Summary is what it comes to for runs.
type Summary struct {
	// Run is "run works with the defaults", or what does not.
	Run string `json:"run"`
	// Limits is the rung of the ladder that holds memory, CPU and processes; see the constants of rungs.
	Limits Rung `json:"limits"`
	// IDs is "range", "self", or "none" where no run can start.
	IDs string `json:"ids"`
	// UIDOnHost is the host's id of an analysis; -1 where no run can start.
	UIDOnHost int `json:"uid_on_host"`
	// SocketWall is what keeps sockets in bound directories out of reach: "overlay", "scan" or "none" where no
	// run can start.
	SocketWall string `json:"socket_wall"`
}

// Rung of the ladder of limits (runner/cgroup).
type Rung string

// The rungs.
const (
	RungSystemd    Rung = "systemd"     // cgroup v2 in a scope that systemd gives
	RungDelegated  Rung = "delegated"   // cgroup v2 in a delegated subtree
	RungV1         Rung = "v1"          // cgroup v1, as root
	RungOuter      Rung = "outer"       // somebody else's control group
	RungBestEffort Rung = "best-effort" // rlimits and a watchdog
	RungNone       Rung = "none"        // runs are refused
)

// Report is the outcome; docs/schema/doctor.json describes its JSON.
type Report struct {
	V           int       `json:"v"`     // 1
	Works       bool      `json:"works"` // nothing failed
	Time        time.Time `json:"time"`  // of its end, UTC
	Host        string    `json:"host"`
	Kernel      string    `json:"kernel"`
	ToolVersion string    `json:"tool_version"`
	Summary     Summary   `json:"summary"`
	Findings    []Finding `json:"findings"`

	unheld []string // limits that the run left to control groups around it, and that none holds
}

// of returns the finding of a code; the zero one before it is known.
func (r *Report) of(code string) Finding {
	for _, f := range r.Findings {
		if f.Code == code {
			return f
		}
	}
	return Finding{}
}

func (r *Report) status(code string) Status { return r.of(code).Status }

// failed returns the first finding that has.
func (r *Report) failed() (Finding, bool) {
	for _, f := range r.Findings {
		if f.Status == Fail {
			return f, true
		}
	}
	return Finding{}, false
}

// obstacle returns which of the codes keeps what needs them from being tried: one that failed, or that was
// itself not tried for that reason.
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

// settle says what the findings come to. The run is the judge: where it worked, what failed before it was no
// obstacle, but for what only the caller's own root, catalog and blobs show.
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

// stamp adds when and where.
func (r *Report) stamp(version string) (err error) {
	r.V, r.ToolVersion, r.Time = 1, version, time.Now().UTC().Truncate(time.Millisecond)
	if r.Host, err = os.Hostname(); err != nil {
		return err
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		r.Kernel = strings.TrimSpace(string(release))
	}
	return nil
}
