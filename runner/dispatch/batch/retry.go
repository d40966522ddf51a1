package batch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Retrying is a Work that repeats a line as the next attempt of its id, while it ends for a reason outside of the analysis.
// A failed line is never repeated, nor one that was asked to stop.
type Retrying struct {
	dispatch.Work
	Retries int
	// Pause is how long to wait before a retry, numbered from 1.
	Pause func(retry int) time.Duration
	// Tell, if not nil, is called before each retry's pause.
	Tell func(line dispatch.Line, o dispatch.LineResult, retry int, pause time.Duration)
}

// Do returns the last attempt's outcome.
func (r Retrying) Do(ctx context.Context, line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
	passed, asked, done := relay(stop)
	defer done()
	for retry := 1; ; retry++ {
		o := r.Work.Do(ctx, line, passed)
		if retry > r.Retries || !repeatable(o) {
			return o
		}
		select {
		case <-asked:
			return o
		default:
		}
		pause := r.Pause(retry)
		if r.Tell != nil {
			r.Tell(line, o, retry, pause)
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-asked:
			wait.Stop()
			return o
		}
	}
}

// relay passes signals on until done is called. asked is closed before the first.
func relay(stop <-chan request.StopSignal) (passed <-chan request.StopSignal, asked <-chan struct{}, done func()) {
	to, first, over := make(chan request.StopSignal, cap(stop)), make(chan struct{}), make(chan struct{})
	go func() {
		ask := sync.OnceFunc(func() { close(first) })
		for {
			select {
			case s := <-stop:
				ask()
				s.Send(to)
			case <-over:
				return
			}
		}
	}()
	return to, first, func() { close(over) }
}

// repeatable reports whether another attempt may end otherwise: not for a refused request, nor a run whose end is pending,
// or of which only the hook is to be repeated.
func repeatable(o dispatch.LineResult) bool {
	var refused *request.Error
	var unusable *request.CatalogError
	switch {
	case o.Passed || errors.As(o.Err, &refused):
		return false
	case errors.As(o.Err, &unusable):
		return true
	}
	switch o.Result.Reason {
	case outcome.ReasonRequest, outcome.ReasonCommit, outcome.ReasonPostProcess:
		return false
	default:
		return o.Result.State == outcome.Error || o.Result.State == outcome.Lost
	}
}
