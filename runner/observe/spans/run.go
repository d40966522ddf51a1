package spans

import (
	"context"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// Trace is what was recorded of one run. Package otlp makes spans of it.
type Trace struct {
	Trace  string            `json:"trace"`
	State  string            `json:"state,omitempty"`
	Parent string            `json:"parent,omitempty"` // the caller's span
	Root   string            `json:"root"`             // id of the span of the whole run
	Named  map[string]string `json:"named"`            // ids of spans of the lane trace.Run, by phase
	Phases []trace.Span      `json:"phases"`
	Offset int64             `json:"offset"` // of the times of phases to nanoseconds since 1970
	About
}

// About is what the span of the whole run says.
type About struct {
	Text    map[string]string `json:"text"` // attributes
	Numbers map[string]int64  `json:"numbers"`
	Failed  string            `json:"failed,omitempty"` // why its status is an error
}

// Run has the ids of the spans of one run that others are children of.
type Run struct {
	parent Context
	trace  string
	root   string
	named  map[string]string
}

// AnalysisPhase is the phase that what the analysis does is a part of, HookPhase that of the hook.
const (
	AnalysisPhase = "run the analysis"
	HookPhase     = "hook and export"
)

func newRun(parent Context) *Run {
	r := &Run{parent: parent, trace: parent.Trace, root: NewID()}
	if r.trace == "" {
		r.trace = NewID() + NewID()
	}
	r.named = map[string]string{AnalysisPhase: NewID(), HookPhase: NewID()}
	return r
}

type key struct{}

// With returns a context of a run that has these spans.
func With(ctx context.Context, r *Run) context.Context { return context.WithValue(ctx, key{}, r) }

// From returns the spans of the run that the context is of, nil if there are none. Their contexts are for the analysis and the hook.
func From(ctx context.Context) *Run {
	r, _ := ctx.Value(key{}).(*Run)
	return r
}

// Recorded reports whether there will be spans: a caller that does not record its own gets none of scidex-oci either.
func (r *Run) Recorded() bool { return r != nil && (r.parent.Trace == "" || r.parent.Sampled) }

// Variables are the trace context of what happens in a phase, AnalysisPhase or HookPhase; nil if there is none. It is the
// caller's own if nothing is recorded.
func (r *Run) Variables(phase string) map[string]string {
	switch {
	case r == nil:
		return nil
	case !r.Recorded():
		return r.parent.Variables()
	}
	return Context{Trace: r.trace, Span: r.named[phase], Sampled: true, State: r.parent.State}.Variables()
}

// Finish is the trace of the run.
func (r *Run) Finish(phases []trace.Span, about About) Trace {
	return Trace{
		Trace: r.trace, State: r.parent.State, Parent: r.parent.Span, Root: r.root, Named: r.named,
		Phases: phases, Offset: time.Now().UnixNano() - trace.Now(), About: about,
	}
}
