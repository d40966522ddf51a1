package runner

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// keepAftermath writes the record.
func (e *execution) keepAftermath() error {
	f, err := record.Create(workspace.ExitRecordPath(e.tenure.Path))
	if err == nil {
		staged := e.staged
		err = record.Write(f, e.aftermath(), func() (entry outputs.Entry, err error) {
			if len(staged) == 0 {
				return entry, io.EOF
			}
			entry, staged = staged[0], staged[1:]
			return entry, nil
		})
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("note for a later gc how the analysis ended: %w", err)
	}
	return nil
}

func (e *execution) aftermath() workspace.ExitRecord {
	a := workspace.ExitRecord{
		V: 1, BootID: workspace.BootID(), StartedAt: e.run.StartedAt, Exit: e.exit,
		Stopped: e.stopped, StoppedAt: e.stoppedAt, Insisted: e.insisted,
		Report: e.report, Outer: e.outer != nil, PidsLimit: e.pidsLimit(), Audit: e.plan.Audit, Command: e.plan.Command,
		HasData: e.plan.Inputs.HasData, HasDocs: e.plan.Inputs.HasDocs,
		Ingest: e.ingest.Name(), Script: e.script.heard(),
	}
	for i, sink := range e.sinks {
		a.Logs[i] = sink.heard()
	}
	if h := e.request.Hook; h != nil {
		a.Hook = &workspace.HookDue{Command: h.Command, Always: h.Always}
	}
	if e.script != nil {
		a.Inside = e.plan.Inputs.Script.Inside
	}
	return a
}

// heard is what a sink has kept so far; nil of none.
func (s *logSink) heard() *workspace.LogFile {
	if s == nil {
		return nil
	}
	h := &workspace.LogFile{Name: s.name, Kept: s.kept, Total: s.total}
	if s.file != nil {
		h.SHA256 = hex.EncodeToString(s.hash.Sum(nil))
	}
	return h
}
