package commit

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/hints"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// End is the end of a run. It begins as what the execution left (Ended), and each later phase adds what it knows: to its fields, and
// to its Report.
type End struct {
	phase.Ended
	Row     catalog.Run    // as it was created, with the time of its start; from Judge on as it is committed
	HasWork bool           // there is a working directory
	Caller  request.Caller // zero in recovery

	Harvest harvest.Harvested // harvest.Nothing until the method Harvested is called

	// Location and WorkGone are as they are when Judge is called; WorkGone also after the hook.
	Location workspace.Location
	WorkGone bool // /work was in memory, and is lost

	Outcome outcome.Outcome // by Judge, then also by the hook and the export; in the row when these have ended
	Keep    bool            // the working directory stays
}

// Harvested adds what the harvest found.
func (e End) Harvested(h harvest.Harvested) End {
	e.Harvest = h
	h.Report(&e.Report)
	return e
}

// judged decides how the run ended, and makes its row.
func (e End) judged(now time.Time) (End, error) {
	var warnings []string
	e.Outcome, warnings = judge.Run(e.Ended, e.Harvest.Missing, e.failure())
	e.Report.Warnings = append(e.Report.Warnings, warnings...)
	committed := e.Outcome
	if hook := e.Hook; hook != nil && (hook.Always || committed.State == outcome.Complete) {
		e.Report.PostProcess = &result.PostProcess{Command: hook.Command}
		committed = judge.WhileHookRuns(committed, e.Row.Key)
	}
	e.Report.Hints = hints.Of(e.facts())
	e.Keep = e.KeepWork(committed)
	if e.Keep && e.HasWork {
		e.Report.Kept = e.Location.Dir
	}
	return e, e.writeRow(committed, now)
}

// facts are what hints are made of.
func (e End) facts() hints.Facts {
	facts := hints.Facts{
		Ended: e.Ended, Outcome: e.Outcome, Outputs: e.Harvest.Outputs, Logs: e.Report.Logs, Caller: e.Caller, Host: hints.ReadHost(),
	}
	if e.Outcome.Reason != outcome.ReasonOutputMissing {
		return facts
	}
	for _, entry := range e.Harvest.Listed.Sorted() {
		if entry.Rejected == "" {
			facts.Listed = append(facts.Listed, outputs.Escape(entry.Path))
		}
	}
	return facts
}

// KeepWork reports whether the working directory stays with such an outcome.
func (e End) KeepWork(o outcome.Outcome) bool {
	return judge.KeepWork(e.Ended, o, e.failure(), e.Location.Ended, e.WorkGone)
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
