package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest"
)

// showLast prints the newest report of the catalog.
func (o selftestRequest) showLast(ctx context.Context, p *command.Program) error {
	kept, err := o.stores.Catalog.Selftests(ctx, 1)
	if err != nil {
		return err
	}
	if len(kept) == 0 {
		return errors.New("this catalog has no selftest yet; run \"scidex-oci selftest\"")
	}
	var report selftest.Report
	if err := json.Unmarshal(kept[0].Report, &report); err != nil {
		return fmt.Errorf("the last report: %w", err)
	}
	if o.JSON {
		return cmp.Or(screen.WriteJSON(p.Stdout, kept[0].Report), statusOf(report))
	}
	lines := checkLines{w: p.Stdout, palette: screen.NewPalette(p.Stdout.File, p.Env)}
	for _, c := range report.Checks {
		lines.check(c)
	}
	lines.end(report)
	return statusOf(report)
}

// checkLines prints a report for a person, line by line as it comes.
type checkLines struct {
	w       io.Writer
	palette screen.Palette
}

func (l checkLines) check(c selftest.Check) {
	detail := c.Detail
	if c.Control != "" {
		detail += " (control: " + c.Control + ")"
	}
	fmt.Fprintf(l.w, "%s  %-12s %s: %s\n", l.word(c.Result), screen.Escape(c.Check), screen.Escape(c.Target), screen.Escape(detail))
}

// word is a result in a column of its own, as wide as the longest.
func (l checkLines) word(result selftest.Result) string {
	return l.palette.Outcome(string(result), string(selftest.Pass), string(selftest.Fail), 12)
}

// end prints the notes and what it comes to.
func (l checkLines) end(report selftest.Report) {
	for _, note := range report.Notes {
		fmt.Fprintf(l.w, "%-12s  %s\n", "note", screen.Escape(note))
	}
	count := map[selftest.Result]int{}
	for _, c := range report.Checks {
		count[c.Result]++
	}
	text := l.palette.Green("passed")
	if !report.Passed {
		text = l.palette.Red("NOT passed")
	}
	fmt.Fprintf(l.w, "%s: %d pass, %d fail, %d inconclusive, %d accepted; %s on %s, policy %s, %s\n", text,
		count[selftest.Pass], count[selftest.Fail], count[selftest.Inconclusive], count[selftest.Accepted],
		screen.Escape(strings.TrimSpace("scidex-oci "+report.ToolVersion)), screen.Escape(report.Host), screen.Escape(screen.ShortDigest(report.PolicySHA256)), screen.LocalTime(report.Time))
}
