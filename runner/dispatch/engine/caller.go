package engine

import (
	"context"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/stops"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Why requests and runs are stopped.
var (
	hangup   = request.StopSignal{ExitCode: 129, Name: "the end of its caller"}
	canceled = request.StopSignal{ExitCode: 143, Name: "a cancel of its request"}
	drained  = request.StopSignal{ExitCode: 143, Name: "the end of the engine"}
	stopped  = request.StopSignal{ExitCode: 143, Name: "scidex-oci stop"}
)

// Caller asks for runs. Close it.
type Caller struct {
	engine *Engine
	queue  []*Job // that wait
	jobs   int    // that have not ended
	closed bool
}

// NewCaller adds a caller.
func (e *Engine) NewCaller() *Caller {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &Caller{engine: e}
	e.callers = append(e.callers, c)
	return c
}

// Job is a request that has been taken.
type Job struct {
	caller   *Caller
	line     dispatch.Line
	events   dispatch.Events // nil: none
	detached bool
	run      *stops.Run // nil: it waits
	done     chan struct{}
	outcome  dispatch.LineResult // after done
}

// Submit queues an analysis, which has an id. Its events go to events, if not nil. A detached one goes on without its caller.
func (c *Caller) Submit(a spec.Analysis, events dispatch.Events, detached bool) (*Job, error) {
	e := c.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return nil, ErrDraining
	}
	if c.closed && !detached {
		return nil, ErrGone
	}
	if _, used := e.jobs[a.ID]; used {
		return nil, ErrInUse
	}
	if c.jobs >= maxQueued {
		return nil, ErrTooMany
	}
	e.number++
	j := &Job{
		caller: c, line: dispatch.Line{Number: e.number, Analysis: a}, events: events, detached: detached,
		done: make(chan struct{}),
	}
	c.jobs++
	e.jobs[a.ID] = j
	e.refused.forget(a.ID)
	if c.left() { // a detached one that was read before the caller's end
		e.callers = append(e.callers, c)
	}
	c.queue = append(c.queue, j)
	e.pump()
	return j, nil
}

// Close cancels what waits and stops what runs of a caller that has gone, except for detached ones.
func (c *Caller) Close() {
	e := c.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	c.cancelQueued(hangup, func(j *Job) bool { return !j.detached })
	for _, j := range e.jobs {
		if j.caller == c && j.run != nil && !j.detached {
			j.run.Send(hangup)
		}
	}
	c.closed = true
	e.callers = slices.DeleteFunc(e.callers, func(other *Caller) bool { return other.left() })
}

// left reports whether a caller has gone and none of its requests waits.
func (c *Caller) left() bool { return c.closed && len(c.queue) == 0 }

// cancelQueued cancels those that wait and are chosen.
func (c *Caller) cancelQueued(why request.StopSignal, chosen func(*Job) bool) {
	var rest []*Job
	for _, j := range c.queue {
		if !chosen(j) {
			rest = append(rest, j)
			continue
		}
		err := &request.StoppedError{Signal: why}
		c.engine.publish(j, dispatch.LineResult{Result: runner.Refused(j.line.Analysis, err, c.engine.host.Version), Err: err})
	}
	c.queue = rest
}

// ID is the run's id.
func (j *Job) ID() string { return j.line.Analysis.ID }

// Done is closed when the run has ended.
func (j *Job) Done() <-chan struct{} { return j.done }

// Result is that of the run, after Done, or a *RefusedError if the analysis became no run.
func (j *Job) Result() (result.Result, error) { return ended(j.outcome) }

// await waits for the end of the run.
func (j *Job) await(ctx context.Context) (result.Result, error) {
	select {
	case <-j.Done():
		return j.Result()
	case <-ctx.Done():
		return result.Result{}, context.Cause(ctx)
	}
}

// Queued reports whether the request waits.
func (j *Job) Queued() bool {
	j.caller.engine.mu.Lock()
	defer j.caller.engine.mu.Unlock()
	return j.run == nil
}

// Pending is the result of a request that waits.
func (j *Job) Pending() result.Result {
	return runner.Queued(j.line.Analysis, j.caller.engine.host.Version)
}

// Stop ends a run as `scidex-oci stop` does; with now it gets no grace period. A request that waits is canceled.
func (j *Job) Stop(now bool) {
	s := stopped
	s.Now = now
	j.end(s)
}

// Cancel ends a run whose request was canceled.
func (j *Job) Cancel() { j.end(canceled) }

func (j *Job) end(s request.StopSignal) {
	e := j.caller.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stop(j, s)
}

// stop ends a job. One that has ended is no more in the queue, and reads no signal.
func (e *Engine) stop(j *Job, s request.StopSignal) {
	if j.run != nil {
		j.run.Send(s)
		return
	}
	j.caller.cancelQueued(s, func(other *Job) bool { return other == j })
}
