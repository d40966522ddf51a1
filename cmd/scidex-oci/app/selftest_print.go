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
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest"
)

// showLastSelftest prints the newest report of the catalog.
func showLastSelftest(ctx context.Context, p *command.Program, st *stores.Stores, asJSON bool) error {
	kept, err := st.Selftests.Selftests(ctx, 1)
	if err != nil {
		return err
	}
	if len(kept) == 0 {
		return errors.New("this catalog has no selftest yet; run \"scidex-oci selftest\"")
	}
	var last selftest.Report
	if err := json.Unmarshal(kept[0].Report, &last); err != nil {
		return fmt.Errorf("the last report: %w", err)
	}
	if asJSON {
		return cmp.Or(screen.WriteJSON(p.Stdout, kept[0].Report), reportStatus(last.Passed))
	}
	print := newReportPrinter(p)
	for _, f := range last.Checks {
		print.check(check.Finding(f))
	}
	print.selftest(last)
	return reportStatus(last.Passed)
}

// check prints a line of selftest.
func (r reportPrinter) check(f check.Finding) {
	r.finding(f, len(check.Inconclusive), len(check.Inconclusive))
}

// selftest prints the notes and the summary after the checks.
func (r reportPrinter) selftest(tested selftest.Report) {
	for _, note := range tested.Notes {
		fmt.Fprintf(r.w, "%-12s  %s\n", "note", screen.Escape(note))
	}
	count := map[check.Status]int{}
	for _, f := range tested.Checks {
		count[f.Status]++
	}
	text := "passed"
	if !tested.Passed {
		text = "NOT passed"
	}
	fmt.Fprintf(r.w, "%s: %d pass, %d fail, %d inconclusive, %d accepted; %s on %s, policy %s, %s\n", r.verdict(tested.Passed, text),
		count[check.Pass], count[check.Fail], count[check.Inconclusive], count[check.Accepted],
		screen.Escape(strings.TrimSpace("scidex-oci "+tested.ToolVersion)), screen.Escape(tested.Host), screen.Escape(format.ShortDigest(tested.PolicySHA256)), screen.LocalTime(tested.Time))
}
