package judge

import (
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/phase"
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
