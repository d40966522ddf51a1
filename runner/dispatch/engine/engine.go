package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// maxQueued bounds the requests of a caller that have not ended.
const maxQueued = 16384

// Errors of Submit.
var (
	ErrDraining = errors.New("the engine ends and takes no new runs")
	ErrTooMany  = errors.New("too many runs of this caller have not ended; wait for some")
	ErrGone     = errors.New("the caller has gone")
	ErrInUse    = errors.New("a run with this id has not ended")
)

// Options say how an engine runs analyses.
type Options struct {
	// Do runs one, and passes its events on where events is not nil.
	Do func(ctx context.Context, line dispatch.Line, stop <-chan request.StopSignal, events dispatch.Events) dispatch.Outcome
	// Admission says how many run at once.
	Admission admission.Options
	Version   string // of this program
	// Asked is that of dispatch.Batch.
	Asked func(id string) []int64
}

// Engine runs analyses.
type Engine struct {
	Options

	mu       sync.Mutex
	ctx      context.Context // of all runs
	executor *dispatch.Executor
	callers  []*Caller // the first has the next turn
	jobs     map[string]*Job
	number   int
	draining bool
	idle     *sync.Cond // no job is left
	refused  outcomes
}

// New makes an engine.
func New(ctx context.Context, o Options) *Engine {
	e := &Engine{Options: o, ctx: ctx, jobs: map[string]*Job{}, refused: outcomes{by: map[string]dispatch.Outcome{}}}
	e.executor = dispatch.NewExecutor(o.Admission, e.retry)
	e.idle = sync.NewCond(&e.mu)
	return e
}

// Find returns the job of a run that has not ended, by its id.
func (e *Engine) Find(id string) (*Job, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j, ok := e.jobs[id]
	return j, ok
}

// Queued returns the ids of those that wait.
func (e *Engine) Queued() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	ids := []string{}
	for _, c := range e.callers {
		for _, j := range c.queue {
			ids = append(ids, j.ID())
		}
	}
	return ids
}

// Refused returns the outcome of one of the last requests that became no run.
func (e *Engine) Refused(id string) (dispatch.Outcome, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o, ok := e.refused.by[id]
	return o, ok
}

// Drain takes no new runs from now on, and cancels those that wait. What runs may end.
func (e *Engine) Drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.draining = true
	for _, c := range e.callers {
		c.cancelQueued(drained, func(*Job) bool { return true })
	}
}

// Draining reports whether the engine takes no new runs.
func (e *Engine) Draining() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining
}

// Signal takes a SIGTERM: it stops the runs that `scidex-oci stop` means, and reports false where it means none.
func (e *Engine) Signal(s request.StopSignal) bool {
	return e.Asked != nil && e.executor.Address(e.Asked, s)
}

// Stop stops all runs.
func (e *Engine) Stop(s request.StopSignal) { e.executor.Stop(s) }

// Empty reports whether no run is left.
func (e *Engine) Empty() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.jobs) == 0
}

// Wait waits until no run is left.
func (e *Engine) Wait() {
	e.mu.Lock()
	for len(e.jobs) > 0 {
		e.idle.Wait()
	}
	e.mu.Unlock()
	e.executor.Wait()
}

// retry starts what may start now that another has ended.
func (e *Engine) retry() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pump()
}

// pump starts what there is room for, one of each caller in turn.
func (e *Engine) pump() {
	for {
		i := slices.IndexFunc(e.callers, func(c *Caller) bool { return len(c.queue) > 0 })
		if i < 0 {
			return
		}
		c := e.callers[i]
		j := c.queue[0]
		if j.run = e.executor.Start(j.line, func(line dispatch.Line, stop <-chan request.StopSignal) dispatch.Outcome {
			return e.run(j, line, stop)
		}); j.run == nil {
			return
		}
		c.queue[0], c.queue = nil, c.queue[1:]
		e.callers = slices.Delete(e.callers, i, i+1)
		if !c.left() {
			e.callers = append(e.callers, c)
		}
	}
}

// run runs a job to its end, in a goroutine of its own.
func (e *Engine) run(j *Job, line dispatch.Line, stop <-chan request.StopSignal) dispatch.Outcome {
	outcome := e.Do(e.ctx, line, stop, j.events)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settle(j, outcome)
	return outcome
}

// settle publishes the outcome of a job.
func (e *Engine) settle(j *Job, o dispatch.Outcome) {
	if o.Result.Attempt == 0 {
		e.refused.add(j.ID(), o)
	}
	j.outcome = o
	delete(e.jobs, j.ID())
	j.caller.jobs--
	close(j.done)
	if len(e.jobs) == 0 {
		e.idle.Broadcast()
	}
}
