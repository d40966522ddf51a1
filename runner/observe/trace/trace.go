// Package trace records how long the phases of one run take, in several processes, and converts them to Chrome's trace
// events. It opens no file or connection.
package trace

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Span is one phase. Times are nanoseconds of CLOCK_MONOTONIC, which is the same in every process and namespace of a
// host (time namespaces are not used).
type Span struct {
	Lane  Lane   `json:"lane"`
	Name  string `json:"name"`
	Start int64  `json:"start"`
	End   int64  `json:"end"`
}

// Tracer collects spans. A nil Tracer does nothing at no cost. It is safe for concurrent use.
type Tracer struct {
	mu    sync.Mutex
	spans []Span
}

// Now is CLOCK_MONOTONIC in nanoseconds (clock_gettime(2)).
func Now() int64 { return read(unix.CLOCK_MONOTONIC) }

// Birth returns when this process started and the current time. A process knows its start only to a hundredth of a second
// (proc_pid_stat(5)); before main it only computes, so its processor time is taken as its age. It includes the time of a
// program that became this one by execve(2).
func Birth() (began, now int64) {
	now = Now()
	return now - read(unix.CLOCK_PROCESS_CPUTIME_ID), now
}

func read(clock int32) int64 {
	var at unix.Timespec
	_ = unix.ClockGettime(clock, &at) // there is no Linux without these clocks
	return at.Nano()
}

// Add adds finished spans.
func (t *Tracer) Add(spans ...Span) {
	if t == nil || len(spans) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans = append(t.spans, spans...)
}

// Spans returns the spans so far.
func (t *Tracer) Spans() []Span {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.spans)
}

// Take returns the spans and drops them.
func (t *Tracer) Take() []Span {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	spans := t.spans
	t.spans = nil
	return spans
}

// Span starts a phase; calling end ends it.
func (t *Tracer) Span(lane Lane, name string) (end func()) {
	if t == nil {
		return func() {}
	}
	start := Now()
	return func() { t.Add(Span{lane, name, start, Now()}) }
}

// Do makes a span of a function.
func (t *Tracer) Do(lane Lane, name string, do func() error) error {
	defer t.Span(lane, name)()
	return do()
}

// Steps are phases of a lane that follow one another without a gap.
type Steps struct {
	tracer *Tracer
	lane   Lane
	last   int64
	mu     sync.Mutex
}

// Steps starts the first of several steps; nil if nothing is traced.
func (t *Tracer) Steps(lane Lane) *Steps {
	if t == nil {
		return nil
	}
	return &Steps{tracer: t, lane: lane, last: Now()}
}

// Done ends a step and starts the next one.
func (s *Steps) Done(name string) { s.DoneAt(name, Now()) }

// DoneAt is Done for a step whose end was recorded elsewhere.
func (s *Steps) DoneAt(name string, at int64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at = max(at, s.last)
	s.tracer.Add(Span{s.lane, name, s.last, at})
	s.last = at
}

type key struct{}

// With returns a context with a tracer.
func With(ctx context.Context, t *Tracer) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, t)
}

// From is the context's tracer, nil if nothing is traced.
func From(ctx context.Context) *Tracer {
	t, _ := ctx.Value(key{}).(*Tracer)
	return t
}
