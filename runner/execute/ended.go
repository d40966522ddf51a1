package execute

import (
	"errors"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// ended is how the analysis ended.
func (e *execution) ended() phase.Ended {
	end := phase.Ended{
		Key: e.Space.Run.Key, Analysis: e.Plan.Analysis, Staged: e.staged,
		V: 1, BootID: workspace.BootID(), StartedAt: e.started, Exit: e.exit,
		Stopped: e.stops.first, StoppedAt: e.stops.at, Forced: e.stops.forced,
		Report: e.report.Report, Outer: e.Space.Limits.Outer(), PidsLimit: e.Space.Limits.Pids(), Audit: e.Plan.Audit, Command: e.Plan.Command,
		HasData: e.Plan.Inputs.HasData, HasDocs: e.Plan.Inputs.HasDocs,
		Script: e.script.Kept(), Root: e.Plan.Base.Dir(),
	}
	if e.Space.Ingest != nil {
		end.Ingest = e.Space.Ingest.Name()
	}
	end.Signed = e.Space.Host.Sign.Given()
	if h := e.Request.Hook; h != nil {
		end.Hook = &phase.HookDue{Command: h.Command, Always: h.Always}
	}
	if e.script != nil {
		end.Inside = e.Plan.Inputs.Script.Inside
	}
	return end
}

// keepLogs closes the files of the ended streams, of the standard input and of the script, which the harvest publishes.
func (e *execution) keepLogs(end *phase.Ended) {
	end.StderrEnd = e.Plan.Redact(wholeLines(e.stderr))
	end.Stdin = e.stdin.Kept()
	end.LogError = errors.Join(e.stdin.Close(), e.logs[0].Close(), e.logs[1].Close(), e.script.Close())
	for i, log := range e.logs {
		end.Logs[i] = log.Kept()
	}
}

// wholeLines drops the line that a tail begins in the middle of: half a secret is not recognised.
func wholeLines(end *bounded.Buffer) string {
	text := end.String()
	if end.Cut() {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}
