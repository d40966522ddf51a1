package runner

import (
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/judge"
)

// result makes the result of a run that just ended, from memory.
func (e *execution) result(v judge.Outcome) result.Result {
	run := e.run
	run.State, run.Reason, run.Message = v.State, string(v.Reason), v.Message
	run.ExitCode, run.Signal = v.ExitCode, v.Signal
	res, err := result.New(run)
	e.tell(err)
	res.Report = e.report
	res.SetEvents(run.Events)
	for _, entry := range e.harvested.Listed.Sorted() {
		res.AddEntry(entry)
	}
	return res
}
