package judge

import (
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// TestUnsigned: a good run without its statement is an error, any other says so, and what else is said of it is said once.
func TestUnsigned(t *testing.T) {
	for name, c := range map[string]struct {
		exit    sandbox.Exit
		state   outcome.State
		reason  outcome.Reason
		message string
		kills   int64 // for lack of memory
		warning string
	}{
		"good": {exited(0), outcome.Error, outcome.ReasonCommit, "the analysis exited with 0, but the run has no signed statement: ", 1, "the kernel killed 1 process"},
		"bad":  {exited(3), outcome.Failed, outcome.ReasonExit, "the analysis exited with 3", 0, "the run has no signed statement"},
	} {
		ended := phase.Ended{
			Exit: c.exit, Signed: true, Command: []string{"x"}, Analysis: spec.Analysis{Keep: spec.KeepFailed}, PidsLimit: 10,
			Hook:   &phase.HookDue{Command: []string{"hook"}},
			Report: result.Report{Enforced: []result.Enforcement{{Limit: "cpus", By: result.ByNone}}, Evidence: result.Evidence{OOMKills: c.kills}},
		}
		end, err := Run(t.Context(), End{Ended: ended, Harvest: harvest.Nothing()}, Signing{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if end.Outcome.State != c.state || end.Outcome.Reason != c.reason || !strings.HasPrefix(end.Outcome.Message, c.message) || end.Row.Outcome != end.Outcome {
			t.Errorf("%s: %+v; in the row %+v", name, end.Outcome, end.Row.Outcome)
		}
		if !end.Keep || end.Report.PostProcess != nil || end.Report.Statement != nil {
			t.Errorf("%s: kept %v, a hook %+v, a statement %+v", name, end.Keep, end.Report.PostProcess, end.Report.Statement)
		}
		said := strings.Join(end.Report.Warnings, "\n")
		if n := len(end.Report.Warnings); n != 2 || !strings.Contains(said, "CPUs are not limited") || !strings.Contains(said, c.warning) {
			t.Errorf("%s: %d warnings: %s", name, n, said)
		}
	}
}
