package judge

import (
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/spec"
)

// endingOf returns what decides of the end of an analysis, with the missing declared outputs.
func endingOf(e phase.Ended, missing []string) ending {
	a := e.Analysis
	return ending{
		Exit: e.Exit, Evidence: e.Report.Evidence, Stopped: e.Stopped, StoppedAt: e.StoppedAt, Forced: e.Forced,
		Grace: time.Duration(a.Grace), Timeout: time.Duration(a.Timeout), Memory: int64(a.Memory), Pids: e.PidsLimit,
		Usage: e.Report.Usage, Outer: e.Outer, Bound: outputs.Extent{Files: a.WorkFiles, Bytes: int64(a.WorkSize)},
		Command: e.Command[0], Missing: missing, Stderr: e.StderrEnd,
	}
}

// KeepWork reports whether the working directory stays: because that was requested, or because it could not be harvested.
// noted says that the end of the analysis was recorded, gone that /work was lost with its supervisor.
func KeepWork(e phase.Ended, o outcome.Outcome, failed *phase.Failure, noted, gone bool) bool {
	switch {
	case e.InMemory() && gone:
		return false
	case failed.Is(outcome.ReasonHarvest), failed.Is(outcome.ReasonSupervisorLost) && noted, failed.Is(outcome.ReasonSandbox) && e.Exit.Executed:
		return true
	case e.Analysis.Keep == spec.KeepAlways:
		return true
	default:
		return e.Analysis.Keep == spec.KeepFailed && o.State != outcome.Complete
	}
}

// RanFull reports whether lack of space may have cut off the run in the middle of a file.
func RanFull(e phase.Ended) bool {
	_, full := endingOf(e, nil).outOfSpace()
	return full
}
