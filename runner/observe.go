package runner

import (
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// observer is what a run knows of the caller's Observe.
type observer struct {
	begun chan struct{} // closed when the caller knows that the analysis started, or never will

	mu    sync.Mutex
	err   error // the first
	ended bool  // the analysis has: later stream data is in the logs only
}

func (o *observer) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}

func (o *observer) warnings() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return []string{result.Sentence(o.err)}
}

// silence ends the events of the streams, which would otherwise come after the end.
func (o *observer) silence() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
}

func (o *observer) silent() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// observe tells the caller.
func (e *execution) observe(t event.Type, data any) {
	if e.request.Observe == nil {
		return
	}
	if err := e.request.Observe(event.New(t, e.run.ID, data)); err != nil {
		e.observer.fail(err)
	}
}

// observed makes events of a stream's bytes.
func (e *execution) observed(stream string) *event.Stream {
	s := &event.Stream{Tell: func(offset int64, part []byte) {
		<-e.observer.begun
		if !e.observer.silent() {
			e.observe(event.TypeLog, event.NewLog(e.run.Attempt, stream, offset, part))
		}
	}}
	if e.request.Observe != nil {
		s.Limit = int64(e.plan.Analysis.LogSize)
	}
	return s
}

func (e *execution) observeCreation() {
	e.observe(event.TypeCreated, event.Created{Attempt: e.run.Attempt, Labels: e.run.Labels, Analysis: e.run.Request})
}

// observeExit reports how the analysis ended, as far as known before its harvest.
func (e *execution) observeExit(ended phase.Ended) {
	v := judge.Decide(judge.EndingOf(ended, nil))
	exited := event.Exited{
		Attempt: e.run.Attempt, Reason: string(v.Reason), ExitCode: v.ExitCode,
		ExitedAt: e.exit.Finished.UTC().Truncate(time.Millisecond),
	}
	if v.Signal != "" {
		exited.Signal = &v.Signal
	}
	e.observe(event.TypeExited, exited)
}

func (e *execution) observeHarvest() {
	e.observe(event.TypeHarvested, event.Harvested{
		Attempt: e.run.Attempt, Outputs: e.harvested.Outputs, Rejected: e.harvested.Rejected, Bytes: e.harvested.Bytes,
	})
}
