package runner

import (
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/plan"
)

// TestEventsWithoutAnEnd: where the supervisor was lost nothing says when the analysis ended, and the kernel has counted all the
// same. An event without a time would keep the result out of the catalog for good.
func TestEventsWithoutAnEnd(t *testing.T) {
	e := execution{plan: &plan.Plan{Audit: true}}
	e.report.Evidence.PidsDenied = 1
	if err := e.end(judge.Outcome{State: catalog.Error, Reason: result.ReasonSupervisorLost}); err != nil {
		t.Fatal(err)
	}
	if len(e.run.Events) != 1 {
		t.Fatalf("events %+v", e.run.Events)
	}
	if err := e.run.Events[0].Validate(); err != nil || !e.run.Events[0].At.Equal(e.run.FinishedAt) || time.Since(e.run.FinishedAt) > time.Hour {
		t.Errorf("event %+v of a run that ended at %v: %v", e.run.Events[0], e.run.FinishedAt, err)
	}
}
