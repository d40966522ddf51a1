package runner

import (
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// ended is how the analysis ended.
func (e *execution) ended() phase.Ended {
	a := phase.Ended{
		Key: e.run.Key, Analysis: e.plan.Analysis, Staged: e.staged,
		V: 1, BootID: workspace.BootID(), StartedAt: e.run.StartedAt, Exit: e.exit,
		Stopped: e.stopped, StoppedAt: e.stoppedAt, Insisted: e.insisted,
		Report: e.report, Outer: e.outer != nil, PidsLimit: e.pidsLimit(), Audit: e.plan.Audit, Command: e.plan.Command,
		HasData: e.plan.Inputs.HasData, HasDocs: e.plan.Inputs.HasDocs,
		Script: e.script.logFile(),
	}
	if e.ingest != nil {
		a.Ingest = e.ingest.Name()
	}
	for i, sink := range e.sinks {
		a.Logs[i] = sink.logFile()
	}
	if h := e.request.Hook; h != nil {
		a.Hook = &phase.HookDue{Command: h.Command, Always: h.Always}
	}
	if e.script != nil {
		a.Inside = e.plan.Inputs.Script.Inside
	}
	return a
}
