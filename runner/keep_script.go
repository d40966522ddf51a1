package runner

import (
	"fmt"
	"io"
	"os"

	"github.com/scidex-ai/scidex-oci/runner/inputs"
)

// keepScript copies the script at the start of the run.
func (e *execution) keepScript() error {
	s := e.plan.Inputs.Script
	if s == nil {
		return nil
	}
	e.script = &logSink{ingest: e.ingest, limit: inputs.ScriptMax}
	if _, err := io.Copy(e.script, io.NewSectionReader(s.File, 0, inputs.ScriptMax)); err != nil {
		return fmt.Errorf("keep the script: %w", err)
	}
	return e.script.err
}

// keptScript returns the script to run: the kept copy, which does not change. It is nil for an empty script.
func (e *execution) keptScript() *os.File {
	switch {
	case e.script == nil:
		return nil
	case e.script.file == nil:
		return e.plan.Inputs.Script.File
	default:
		return e.script.file
	}
}
