package app

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/doctor"
)

// TestDoctorPrintsTheVerdictFirst: then what fails, then what warns, in the order of the report.
func TestDoctorPrintsTheVerdictFirst(t *testing.T) {
	report := doctor.Report{Summary: doctor.Summary{Run: "run does not work", IDs: "none"}, Findings: []check.Finding{
		{Name: "well.one", Status: check.OK},
		{Name: "warns", Status: check.Warn, Cure: "have it", Command: "get it"},
		{Name: "warns.too", Status: check.Warn, Cure: "have it", Command: "get it"},
		{Name: "fails.one", Status: check.Fail},
		{Name: "skipped", Status: check.Skipped, After: "fails.one"},
		{Name: "fails.two", Status: check.Fail},
		{Name: "well.two", Status: check.OK},
	}}
	for all, want := range map[bool]string{
		false: "run does not work|limits:|unknown until a run works|fails.one|fails.two|warns|have it|get it|warns.too|that of warns|2 probes well",
		true:  "run does not work|limits:|fails.one|fails.two|warns|have it|get it|warns.too|that of warns|well.one|after fails.one|well.two",
	} {
		var b strings.Builder
		reportPrinter{w: &b}.doctor(report, all)
		text := b.String()
		if !all && strings.Contains(text, "well.one") {
			t.Errorf("it prints what is well: %s", text)
		}
		if strings.Count(text, "get it") != 1 {
			t.Errorf("it repeats a cure: %s", text)
		}
		for word := range strings.SplitSeq(want, "|") {
			_, rest, ok := strings.Cut(text, word)
			if !ok {
				t.Fatalf("no %q after what comes before it in\n%s", word, b.String())
			}
			text = rest
		}
	}
}
