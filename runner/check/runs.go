package check

import (
	"context"
	"maps"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// StoppedError is returned by a check that a signal stopped.
type StoppedError struct{ Signal request.StopSignal }

func (e *StoppedError) Error() string { return "stopped by " + e.Signal.Name }

// Runs are the runs of one check, which stop signals end together.
type Runs struct {
	mu      sync.Mutex
	alive   map[*Run]bool
	stopped *request.StopSignal // the first
	cancel  context.CancelCauseFunc
	closed  chan struct{}
	relay   sync.WaitGroup
}

// NewRuns passes the signals from stop on to all runs until Close. The first also cancels the returned context of the
// check, with a StoppedError as its cause.
func NewRuns(ctx context.Context, stop <-chan request.StopSignal) (*Runs, context.Context) {
	r := &Runs{alive: map[*Run]bool{}, closed: make(chan struct{})}
	ctx, r.cancel = context.WithCancelCause(ctx)
	r.relay.Go(func() {
		for {
			select {
			case signal := <-stop:
				r.stop(signal)
			case <-r.closed:
				return
			}
		}
	})
	return r, ctx
}

func (r *Runs) stop(signal request.StopSignal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped == nil {
		r.stopped = &signal
		r.cancel(&StoppedError{signal})
	}
	for run := range r.alive {
		signal.Send(run.stop)
	}
}

// Close ends all runs and waits for them.
func (r *Runs) Close() {
	close(r.closed)
	r.relay.Wait()
	r.mu.Lock()
	alive := maps.Clone(r.alive)
	r.mu.Unlock()
	for run := range alive {
		run.End()
		<-run.Ended
	}
	r.cancel(nil)
}

// Run is a run of the pipeline.
type Run struct {
	Ended  chan struct{}
	Result result.Result // valid once Ended is closed, as is Err
	Err    error
	stop   chan request.StopSignal
}

// Start starts a run. Only signals end it: the context of the check may be cancelled before.
func (r *Runs) Start(ctx context.Context, by runner.Runner, wanted request.Request) *Run {
	run := &Run{Ended: make(chan struct{}), stop: make(chan request.StopSignal, 2)}
	wanted.Stop = run.stop
	r.mu.Lock()
	r.alive[run] = true
	if r.stopped != nil {
		r.stopped.Send(run.stop)
	}
	r.mu.Unlock()
	go func() {
		run.Result, run.Err = by.Run(context.WithoutCancel(ctx), wanted)
		close(run.Ended)
		r.mu.Lock()
		delete(r.alive, run)
		r.mu.Unlock()
	}()
	return run
}

// End stops a run without its grace period.
func (r *Run) End() {
	for range 2 {
		request.StopSignal{ExitCode: outcome.SignalBase + int(unix.SIGTERM), Name: "SIGTERM"}.Send(r.stop)
	}
}
