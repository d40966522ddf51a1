// Package observe passes the events of a run to its caller.
package observe

import (
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// Observer passes the events of one run to its caller. It is safe for concurrent use.
type Observer struct {
	to  func(event.Event) error // nil: nothing is observed
	run catalog.Run

	open  func()        // closes ready, once
	ready chan struct{} // closed when the caller knows that the analysis started, or never will

	mu    sync.Mutex
	err   error // the first
	ended bool  // the analysis has: later stream data is in the logs only
}

// New returns the observer of a run that was just created; to may be nil.
func New(to func(event.Event) error, run catalog.Run) *Observer {
	ready := make(chan struct{})
	return &Observer{to: to, run: run, ready: ready, open: sync.OnceFunc(func() { close(ready) })}
}

func (o *Observer) observe(t event.Type, data any) {
	if o.to == nil {
		return
	}
	if err := o.to(event.New(t, o.run.ID, data)); err != nil {
		o.fail(err)
	}
}

func (o *Observer) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}

// Created says that the run is in the catalog.
func (o *Observer) Created() {
	o.observe(event.TypeCreated, event.Created{Attempt: o.run.Attempt, Labels: o.run.Labels, Analysis: o.run.Request})
}

// Started says when the analysis has started, with the report so far, and opens the streams.
func (o *Observer) Started(at time.Time, report result.Report) error {
	defer o.Open()
	if o.to == nil {
		return nil
	}
	run := o.run
	run.StartedAt = at
	res, err := result.New(run)
	res.Report = report
	o.observe(event.TypeStarted, res)
	return err
}

// Open lets the events of the streams pass: the caller knows that the analysis started, or never will. It is idempotent.
func (o *Observer) Open() { o.open() }

// Usage says what the analysis uses.
func (o *Observer) Usage(u event.Usage) {
	u.Attempt = o.run.Attempt
	o.observe(event.TypeUsage, u)
}

// Request says that a request of the analysis has ended.
func (o *Observer) Request(r result.Request) {
	o.observe(event.TypeRequest, event.Request{Attempt: o.run.Attempt, Request: r})
}

// Stream returns a writer that makes events of the first limit bytes of a stream.
func (o *Observer) Stream(name string, limit int64) *event.Stream {
	s := &event.Stream{Tell: func(offset int64, part []byte) {
		<-o.ready
		if !o.silent() {
			o.observe(event.TypeLog, event.NewLog(o.run.Attempt, name, offset, part))
		}
	}}
	if o.to != nil {
		s.Limit = limit
	}
	return s
}

// Silence ends the events of the streams, which would otherwise come after the end.
func (o *Observer) Silence() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
}

func (o *Observer) silent() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// Exited says how the analysis ended, as far as it is known before the harvest.
func (o *Observer) Exited(v outcome.Outcome, at time.Time) {
	exited := event.Exited{
		Attempt: o.run.Attempt, Reason: v.Reason, ExitCode: v.ExitCode, Signal: v.Signal, ExitedAt: at.UTC().Truncate(time.Millisecond),
	}
	o.observe(event.TypeExited, exited)
}

// Harvested says what the harvest found; bytes are those of the outputs.
func (o *Observer) Harvested(outputs, rejected, bytes int64) {
	o.observe(event.TypeHarvested, event.Harvested{Attempt: o.run.Attempt, Outputs: outputs, Rejected: rejected, Bytes: bytes})
}

// Warnings is the first error of the caller's function.
func (o *Observer) Warnings() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return []string{result.Sentence(o.err)}
}
