package commit

import (
	"encoding/json"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// End is all that decides how a run ended, and its row before.
type End struct {
	Row      catalog.Run // as it was created, with the time of its start
	Ended    phase.Ended
	Harvest  harvest.Harvested
	Failure  *judge.Failure
	Place    workspace.Location
	WorkGone bool // /work was in memory, and is lost
	HasWork  bool // there is a working directory
}

// Final is how a run ended, and its row.
type Final struct {
	Outcome judge.Outcome // after a hook, which the row lacks before that has ended
	Keep    bool          // the working directory stays
	Report  result.Report
	Row     catalog.Run
}

// Judge decides how a run ended and writes its row. The report is the one of Ended, as it is now; warnings are added to it.
func Judge(e End, now time.Time) (f Final, err error) {
	f.Report, f.Row = e.Ended.Report, e.Row
	e.Harvest.Report(&f.Report)
	var warnings []string
	f.Outcome, warnings = judge.Run(e.Ended, e.Harvest.Missing, e.Failure)
	f.Report.Warnings = append(f.Report.Warnings, warnings...)
	committed := f.Outcome
	if hook := e.Ended.Hook; hook != nil && (hook.Always || committed.State == catalog.Complete) {
		f.Report.PostProcess = &result.PostProcess{Command: hook.Command}
		committed = committed.WhileHookRuns(e.Row.Key)
	}
	f.Keep = judge.KeepWork(e.Ended, committed, e.Failure, e.Place.Ended, e.WorkGone)
	if f.Keep && e.HasWork {
		f.Report.Kept = e.Place.Dir
	}
	return f, f.write(e, committed, now)
}

// write makes the row.
func (f *Final) write(e End, committed judge.Outcome, now time.Time) (err error) {
	row := &f.Row
	row.State, row.Reason, row.Message = committed.State, string(committed.Reason), committed.Message
	row.ExitCode, row.Signal = committed.ExitCode, committed.Signal
	if row.FinishedAt.IsZero() {
		row.FinishedAt = now.UTC()
	}
	row.OutputsTotal, row.RejectedTotal, row.Blobs = e.Harvest.Outputs, e.Harvest.Rejected, e.Harvest.Blobs
	row.Events = events(e.Ended, committed, row.FinishedAt)
	if row.Report, err = json.Marshal(f.Report); err != nil {
		return err
	}
	row.Place, err = json.Marshal(e.Place)
	return err
}
