// Package trace notes how long the phases of one run take, in several processes, and makes Chrome's trace events of
// that. It opens no file and talks to nobody.
package trace

import (
	"context"
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

// Tracer collects spans. Nil is one that does nothing, and costs nothing. It may be used by many goroutines.
type Tracer struct {
	mu    sync.Mutex
	spans []Span
}

// Now is CLOCK_MONOTONIC in nanoseconds (clock_gettime(2)).
func Now() int64 { return read(unix.CLOCK_MONOTONIC) }

// Birth returns when this process began and what time it is. A process is told its own start only to a hundredth of a
// second (proc_pid_stat(5)); before main it does nothing but compute, so it is taken to have begun as long ago as it
// has had processor time. What a program took that became this one by execve(2) is part of that.
func Birth() (began, now int64) {
	now = Now()
	return now - read(unix.CLOCK_PROCESS_CPUTIME_ID), now
}

func read(clock int32) int64 {
	var at unix.Timespec
	_ = unix.ClockGettime(clock, &at) // there is no Linux without these clocks
	return at.Nano()
}

// Add notes spans that are known.
func (t *Tracer) Add(spans ...Span) {
	if t == nil || len(spans) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans = append(t.spans, spans...)
}

// Take returns what was collected and forgets it.
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

// Span begins a phase; calling what it returns ends it.
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

// Steps begins the first of several steps; nil where nothing is traced.
func (t *Tracer) Steps(lane Lane) *Steps {
	if t == nil {
		return nil
	}
	return &Steps{tracer: t, lane: lane, last: Now()}
}

// Done ends a step, and the next one begins.
func (s *Steps) Done(name string) { s.DoneAt(name, Now()) }

// DoneAt is Done for a step that ended at a time which somebody else has noted.
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

// With gives a context a tracer, for what is called with it.
func With(ctx context.Context, t *Tracer) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, t)
}

// From is the context's tracer, nil where nothing is traced.
func From(ctx context.Context) *Tracer {
	t, _ := ctx.Value(key{}).(*Tracer)
	return t
}
