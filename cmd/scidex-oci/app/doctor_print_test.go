package app

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check/doctor"
)

// TestDoctorPrintsTheVerdictFirst: then what fails, then what warns, in the order of the report.
func TestDoctorPrintsTheVerdictFirst(t *testing.T) {
	report := doctor.Report{Summary: doctor.Summary{Run: "run does not work"}, Findings: []doctor.Finding{
		{Code: "well.one", Status: doctor.OK},
		{Code: "warns", Status: doctor.Warn, Cure: "have it"},
		{Code: "fails.one", Status: doctor.Fail},
		{Code: "skipped", Status: doctor.Skipped, After: "fails.one"},
		{Code: "fails.two", Status: doctor.Fail},
		{Code: "well.two", Status: doctor.OK},
	}}
	for all, want := range map[bool]string{
		false: "run does not work|limits:|fails.one|fails.two|warns|have it|2 probes well",
		true:  "run does not work|limits:|fails.one|fails.two|warns|have it|well.one|after fails.one|well.two",
	} {
		var b strings.Builder
		reportPrinter{w: &b}.doctor(report, all)
		text := b.String()
		if !all && strings.Contains(text, "well.one") {
			t.Errorf("it prints what is well: %s", text)
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
