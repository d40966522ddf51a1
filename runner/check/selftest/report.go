package selftest

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

// add keeps a check and passes it on.
func (t *test) add(c Check) {
	t.report.Checks = append(t.report.Checks, c)
	if t.options.Each != nil {
		t.options.Each(c)
	}
}

func (t *test) note(text string) { t.report.Notes = append(t.report.Notes, text) }

// finish completes the report.
func (t *test) finish() (report Report, err error) {
	report = t.report
	report.Stamp, err = probe.NewStamp("osrelease", "version")
	report.BootID = t.main.BootID
	report.Passed = len(report.Checks) > 0
	for _, c := range report.Checks {
		report.Passed = report.Passed && (c.Result == judge.Pass || c.Result == judge.Accepted)
	}
	return report, err
}
