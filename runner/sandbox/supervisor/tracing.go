package supervisor

import (
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// span starts a phase of the supervisor.
func (w *worker) span(name string) (end func()) { return w.trace.Span(trace.Supervisor, name) }
