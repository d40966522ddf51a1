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

// End is all that decides how a run ended, and its row before. A failure of the execution is in Ended, one of the harvest in
// Harvest.
type End struct {
	Row      catalog.Run // as it was created, with the time of its start
	Ended    phase.Ended
	Harvest  harvest.Harvested
	Location workspace.Location
	WorkGone bool           // /work was in memory, and is lost
	HasWork  bool           // there is a working directory
	Caller   request.Caller // zero in recovery
}

// Final is how a run ended, and its row.
type Final struct {
	Outcome outcome.Outcome // after a hook, which the row lacks before that has ended
	Keep    bool            // the working directory stays
	Report  result.Report
	Row     catalog.Run
}

// Judge decides how a run ended and writes its row. The report is the one of Ended, as it is now; warnings are added to it.
func Judge(e End, now time.Time) (f Final, err error) {
	f.Report, f.Row = e.Ended.Report, e.Row
	e.Harvest.Report(&f.Report)
	var warnings []string
	f.Outcome, warnings = judge.Run(e.Ended, e.Harvest.Missing, e.failure())
	f.Report.Warnings = append(f.Report.Warnings, warnings...)
	committed := f.Outcome
	if hook := e.Ended.Hook; hook != nil && (hook.Always || committed.State == outcome.Complete) {
		f.Report.PostProcess = &result.PostProcess{Command: hook.Command}
		committed = judge.WhileHookRuns(committed, e.Row.Key)
	}
	f.Report.Hints = hints.Of(e.facts(f))
	f.Keep = e.KeepWork(committed)
	if f.Keep && e.HasWork {
		f.Report.Kept = e.Location.Dir
	}
	return f, f.write(e, committed, now)
}

// facts are what hints are made of.
func (e End) facts(f Final) hints.Facts {
	facts := hints.Facts{
		Ended: e.Ended, Outcome: f.Outcome, Outputs: e.Harvest.Outputs, Logs: f.Report.Logs, Caller: e.Caller, Host: hints.ReadHost(),
	}
	if f.Outcome.Reason != outcome.ReasonOutputMissing {
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

func (e End) failure() *phase.Failure { return cmp.Or(e.Ended.Failure, e.Harvest.Failure) }

// Result makes the result of a run that just ended, with what the harvest listed.
func (f Final) Result(listed result.Excerpt) (result.Result, error) {
	run := f.Row
	run.Outcome = f.Outcome
	res, err := result.New(run)
	res.Report = f.Report
	res.SetEvents(run.Events)
	for _, entry := range listed.Sorted() {
		res.AddEntry(entry)
	}
	return res, err
}

// write makes the row.
func (f *Final) write(e End, committed outcome.Outcome, now time.Time) (err error) {
	row := &f.Row
	row.Outcome = committed
	if row.FinishedAt.IsZero() {
		row.FinishedAt = now.UTC()
	}
	row.OutputsTotal, row.RejectedTotal, row.Blobs = e.Harvest.Outputs, e.Harvest.Rejected, e.Harvest.Blobs
	row.Events = events(e.Ended, committed, row.FinishedAt)
	if row.Report, err = json.Marshal(f.Report); err != nil {
		return err
	}
	row.Place, err = json.Marshal(e.Location)
	return err
}
