package judge

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// End is the end of a run. It begins as what the execution left (Ended), and each later phase adds what it knows: to its fields, and
// to its Report.
type End struct {
	phase.Ended
	Row     catalog.Run    // as it was created, with the time of its start; from Run on as it is committed
	HasWork bool           // there is a working directory
	Caller  request.Caller // zero in recovery

	Harvest harvest.Harvested // harvest.Nothing until the method Harvested is called

	// Location and WorkGone are as they are when Run is called; WorkGone also after the hook.
	Location workspace.Location
	WorkGone bool // /work was in memory, and is lost

	Outcome outcome.Outcome // by Run, then also by the hook and the export; in the row when these have ended
	Keep    bool            // the working directory stays
}

// Harvested adds what the harvest found.
func (e End) Harvested(h harvest.Harvested) End {
	e.Harvest = h
	h.Report(&e.Report)
	return e
}

// KeepWork reports whether the working directory stays with such an outcome: because that was requested, or because it could not be
// harvested.
func (e End) KeepWork(o outcome.Outcome) bool {
	switch failed := e.failure(); {
	case e.InMemory() && e.WorkGone:
		return false
	case failed.Is(outcome.ReasonHarvest), failed.Is(outcome.ReasonSupervisorLost) && e.Location.Ended, failed.Is(outcome.ReasonSandbox) && e.Exit.Executed:
		return true
	case e.Analysis.Keep == spec.KeepAlways:
		return true
	default:
		return e.Analysis.Keep == spec.KeepFailed && o.State != outcome.Complete
	}
}

// failure is the one of the execution or of the harvest; nil without both.
func (e End) failure() *phase.Failure { return cmp.Or(e.Failure, e.Harvest.Failure) }

// writeRow makes the row that is committed.
func (e *End) writeRow(committed outcome.Outcome, now time.Time) (err error) {
	row := &e.Row
	row.Outcome = committed
	if row.FinishedAt.IsZero() {
		row.FinishedAt = now.UTC()
	}
	row.OutputsTotal, row.RejectedTotal, row.Blobs = e.Harvest.Outputs, e.Harvest.Rejected, e.Harvest.Blobs
	row.Events = events(e.Ended, committed, row.FinishedAt)
	if row.Report, err = json.Marshal(e.Report); err != nil {
		return err
	}
	row.Place, err = json.Marshal(e.Location)
	return err
}

// Result makes the result of a run that just ended, with what the harvest listed.
func (e End) Result() (result.Result, error) {
	run := e.Row
	run.Outcome = e.Outcome
	res, err := result.New(run)
	res.Report = e.Report
	res.SetEvents(run.Events)
	for _, entry := range e.Harvest.Listed.Sorted() {
		res.AddEntry(entry)
	}
	return res, err
}
