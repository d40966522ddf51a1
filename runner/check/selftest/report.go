package selftest

import (
	"os"
	"strings"
	"time"
)

// Result of a check.
type Result string

// The results. Accepted is what the caller has asked to do without (--limits best-effort, --ids self): it
// is told and is no failure.
const (
	Pass         Result = "pass"
	Fail         Result = "fail"
	Inconclusive Result = "inconclusive"
	Accepted     Result = "accepted"
)

// Check is one line of a report.
type Check struct {
	Check  string `json:"check"`  // what was tried: "tcp", "socket", "write"
	Target string `json:"target"` // on what
	Result Result `json:"result"`
	Detail string `json:"detail"` // what happened inside
	// Control is what happened outside; empty where there is nothing to compare with.
	Control string `json:"control"`
}

// Report is the outcome of a selftest; docs/schema/selftest.json describes its JSON.
type Report struct {
	V            int       `json:"v"` // 1
	Passed       bool      `json:"passed"`
	Time         time.Time `json:"time"` // of its end, UTC
	Host         string    `json:"host"`
	Kernel       string    `json:"kernel"`
	BootID       string    `json:"boot_id"`
	ToolVersion  string    `json:"tool_version"`
	PolicySHA256 string    `json:"policy_sha256"`
	Runs         []string  `json:"runs"`
	Checks       []Check   `json:"checks"`
	// Notes say what was left out, and why.
	Notes []string `json:"notes"`
}

// add keeps a check and passes it on.
func (t *test) add(c Check) {
	t.report.Checks = append(t.report.Checks, c)
	if t.options.Each != nil {
		t.options.Each(c)
	}
}

func (t *test) note(text string) { t.report.Notes = append(t.report.Notes, text) }

// finish completes the report.
func (t *test) finish() (Report, error) {
	report := t.report
	var err error
	if report.Host, err = os.Hostname(); err != nil {
		return report, err
	}
	report.Time = time.Now().UTC().Truncate(time.Millisecond)
	report.Kernel, report.BootID = kernel(), t.main.BootID
	report.Passed = len(report.Checks) > 0
	for _, c := range report.Checks {
		report.Passed = report.Passed && (c.Result == Pass || c.Result == Accepted)
	}
	return report, nil
}

// kernel is the release and version of the running one, as uname(1) tells; empty where it cannot be read.
func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	version, err := os.ReadFile("/proc/sys/kernel/version")
	if err != nil {
		return strings.TrimSpace(string(release))
	}
	return strings.TrimSpace(string(release)) + " " + strings.TrimSpace(string(version))
}
