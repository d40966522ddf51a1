package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/report"
)

// showLast prints the newest report of the catalog.
func (o selftestRequest) showLast(ctx context.Context, p *command.Program) error {
	kept, err := o.stores.Selftests.Selftests(ctx, 1)
	if err != nil {
		return err
	}
	if len(kept) == 0 {
		return errors.New("this catalog has no selftest yet; run \"scidex-oci selftest\"")
	}
	var last report.Report
	if err := json.Unmarshal(kept[0].Report, &last); err != nil {
		return fmt.Errorf("the last report: %w", err)
	}
	if o.JSON {
		return cmp.Or(screen.WriteJSON(p.Stdout, kept[0].Report), reportStatus(last.Passed))
	}
	print := newReportPrinter(p)
	for _, c := range last.Checks {
		print.check(c)
	}
	print.selftest(last)
	return reportStatus(last.Passed)
}

// check prints a line of selftest.
func (r reportPrinter) check(c report.Check) {
	detail := c.Target + ": " + c.Detail
	if c.Control != "" {
		detail += " (control: " + c.Control + ")"
	}
	result := r.palette.Outcome(string(c.Result), string(judge.Pass), string(judge.Fail), len(judge.Inconclusive))
	r.line(result, len(judge.Inconclusive), c.Check, detail)
}

// selftest prints the notes and the summary after the checks.
func (r reportPrinter) selftest(tested report.Report) {
	for _, note := range tested.Notes {
		fmt.Fprintf(r.w, "%-12s  %s\n", "note", screen.Escape(note))
	}
	count := map[judge.Result]int{}
	for _, c := range tested.Checks {
		count[c.Result]++
	}
	text := "passed"
	if !tested.Passed {
		text = "NOT passed"
	}
	fmt.Fprintf(r.w, "%s: %d pass, %d fail, %d inconclusive, %d accepted; %s on %s, policy %s, %s\n", r.verdict(tested.Passed, text),
		count[judge.Pass], count[judge.Fail], count[judge.Inconclusive], count[judge.Accepted],
		screen.Escape(strings.TrimSpace("scidex-oci "+tested.ToolVersion)), screen.Escape(tested.Host), screen.Escape(format.ShortDigest(tested.PolicySHA256)), screen.LocalTime(tested.Time))
}
