// Package report has the result of a selftest, and fills it in.
package report

import (
	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
)

// Check is one line of a report.
type Check struct {
	Check  string       `json:"check"`  // what was tried: "tcp", "socket", "write"
	Target string       `json:"target"` // on what
	Result judge.Result `json:"result"`
	Detail string       `json:"detail"` // what happened inside
	// Control is what happened outside; empty where there is nothing to compare with.
	Control string `json:"control"`
}

// Report is the result of a selftest; docs/schema/selftest.json describes its JSON.
type Report struct {
	V      int  `json:"v"` // 1
	Passed bool `json:"passed"`
	probe.Stamp
	BootID       string   `json:"boot_id"`
	ToolVersion  string   `json:"tool_version"`
	PolicySHA256 string   `json:"policy_sha256"`
	Runs         []string `json:"runs"`
	Checks       []Check  `json:"checks"`
	// Notes say what was left out, and why.
	Notes []string `json:"notes"`
}

// Recorder fills in a report.
type Recorder struct {
	Report
	each func(Check)
}

// NewRecorder starts a report. Each, where not nil, is called with every check as it is known.
func NewRecorder(version string, each func(Check)) *Recorder {
	return &Recorder{Report{V: 1, ToolVersion: version, Runs: []string{}, Checks: []Check{}, Notes: []string{}}, each}
}

// Add keeps a check and passes it on.
func (r *Recorder) Add(c Check) {
	r.Checks = append(r.Checks, c)
	if r.each != nil {
		r.each(c)
	}
}

// Note keeps notes.
func (r *Recorder) Note(notes ...string) { r.Notes = append(r.Notes, notes...) }

// Finish completes the report.
func (r *Recorder) Finish(bootID string) (report Report, err error) {
	report = r.Report
	report.Stamp, err = probe.NewStamp("osrelease", "version")
	report.BootID = bootID
	report.Passed = len(report.Checks) > 0
	for _, c := range report.Checks {
		report.Passed = report.Passed && (c.Result == judge.Pass || c.Result == judge.Accepted)
	}
	return report, err
}
