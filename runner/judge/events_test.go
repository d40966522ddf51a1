package judge

import (
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// TestEventsWithoutAnExitTime: after the loss of the supervisor no one knows when the analysis ended, but the kernel's counters make
// events. An event without a time would keep the result out of the catalog for good.
func TestEventsWithoutAnExitTime(t *testing.T) {
	failure := &phase.Failure{Reason: outcome.ReasonSupervisorLost, Err: catalog.ErrNotFound}
	ended := phase.Ended{Failure: failure, Audit: true, Command: []string{"true"}, Report: result.Report{Evidence: result.Evidence{PidsDenied: 1}}}
	now := time.Now()
	f, err := Run(t.Context(), End{Ended: ended, Harvest: harvest.Nothing()}, Signing{}, now)
	if err != nil {
		t.Fatal(err)
	}
	if f.Row.State != outcome.Lost || len(f.Row.Events) != 1 {
		t.Fatalf("row %+v", f.Row)
	}
	if err := f.Row.Events[0].Validate(); err != nil || !f.Row.Events[0].At.Equal(f.Row.FinishedAt) || !f.Row.FinishedAt.Equal(now) {
		t.Errorf("event %+v of a run that ended at %v: %v", f.Row.Events[0], f.Row.FinishedAt, err)
	}
}
