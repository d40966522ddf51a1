package sandbox

import (
	"os"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// traced is the argument of a supervisor whose launcher traces, followed by the time of its execve (trace.Now).
const traced = "trace="

// traceArgs are the arguments of a supervisor executed now; none without tracing.
func traceArgs(asked bool) []string {
	if !asked {
		return nil
	}
	return []string{traced + strconv.FormatInt(trace.Now(), 10)}
}

// newTracer is the supervisor's, nil if its launcher does not trace.
func newTracer() *trace.Tracer {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], traced) {
		return nil
	}
	t := &trace.Tracer{}
	if executed, err := strconv.ParseInt(os.Args[1][len(traced):], 10, 64); err == nil {
		t.Add(trace.Span{Lane: trace.Supervisor, Name: "execute the supervisor", Start: executed, End: trace.Now()})
	}
	return t
}

// span starts a phase of the supervisor.
func (w *worker) span(name string) (end func()) { return w.trace.Span(trace.Supervisor, name) }
