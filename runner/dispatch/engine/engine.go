package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/spec"
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
	// Runs makes a run of each request. Its At and Events are the engine's own.
	Runs dispatch.Runs
	// Admission says how many run at once.
	Admission admission.Options
}

// Engine runs analyses, and answers what callers ask about runs. Close it.
type Engine struct {
	host  *phase.Host
	named plan.Named
	// do runs a request, and passes its events on if events is not nil.
	do        func(ctx context.Context, line dispatch.Line, stop <-chan request.StopSignal, events dispatch.Events) dispatch.LineResult
	recovered func()        // ends recovery
	reads     chan struct{} // a place for each that reads the catalog

	mu       sync.Mutex
	ctx      context.Context // of all runs
	executor *dispatch.Executor
	callers  []*Caller // the first has the next turn
	jobs     map[string]*Job
	number   int
	draining bool
	idle     *sync.Cond // no job is left
	refused  refusals
}

// New makes an engine, and does what a command does at its start, again and again: it commits results that wait, and ends killed runs.
func New(ctx context.Context, o Options) *Engine {
	e := newEngine(ctx, o.Runs.Host, o.Admission)
	e.named = plan.Named{Root: e.host.Root, Overwrite: o.Runs.Overwrite}
	e.do = func(ctx context.Context, line dispatch.Line, stop <-chan request.StopSignal, events dispatch.Events) dispatch.LineResult {
		runs := o.Runs
		runs.At, runs.Events = refusal, events
		defer lockdir.SweepContentOf(line.Analysis.Script, line.Analysis.Stage) //nolint:errcheck // else gc does it
		return runs.Do(ctx, line, stop)
	}
	e.recoverOthers(ctx)
	e.SweepContent()
	e.recovered = e.recoverUntil(ctx)
	return e
}

func newEngine(ctx context.Context, host *phase.Host, o admission.Options) *Engine {
	e := &Engine{host: host, reads: make(chan struct{}, readsAtOnce), ctx: ctx, jobs: map[string]*Job{}, refused: refusals{by: map[string]dispatch.LineResult{}}}
	e.executor = dispatch.NewExecutor(o, e.retry)
	e.idle = sync.NewCond(&e.mu)
	return e
}

// refusal is the error of a request, which is no line of a file.
func refusal(_ int, err error) error {
	var used *request.UsedError
	if errors.As(err, &used) {
		return fmt.Errorf("id %s was used before and is %s; choose another id", used.ID, used.State)
	}
	return err
}

// Close ends what New has started. No run is left then (WaitAll).
func (e *Engine) Close() { e.recovered() }

// Check refuses an analysis that names what is not there, before it is submitted.
func (e *Engine) Check(a spec.Analysis) error { return e.named.Check(a) }

// Job returns the job of a run that has not ended, by its id.
func (e *Engine) Job(id string) (*Job, bool) {
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
func (e *Engine) Refused(id string) (dispatch.LineResult, bool) {
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

// Signal takes a SIGTERM: it stops the runs that `scidex-oci stop` means, and reports false if it means none.
func (e *Engine) Signal(s request.StopSignal) bool {
	return e.executor.Address(func(id string) []int64 { return watch.AskedToStop(e.host, id) }, s)
}

// StopAll stops all runs.
func (e *Engine) StopAll(s request.StopSignal) { e.executor.Stop(s) }

// WaitAll waits until no run is left.
func (e *Engine) WaitAll() {
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

// pump starts what there are slots for, one of each caller in turn.
func (e *Engine) pump() {
	for {
		i := slices.IndexFunc(e.callers, func(c *Caller) bool { return len(c.queue) > 0 })
		if i < 0 {
			return
		}
		c := e.callers[i]
		j := c.queue[0]
		j.run = e.executor.Start(j.line, func(line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
			return e.do(e.ctx, line, stop, j.events)
		}, func(o dispatch.LineResult) { e.end(j, o) })
		if j.run == nil {
			return
		}
		c.queue[0], c.queue = nil, c.queue[1:]
		e.callers = slices.Delete(e.callers, i, i+1)
		if !c.left() {
			e.callers = append(e.callers, c)
		}
	}
}

// end publishes the outcome of a job that ran.
func (e *Engine) end(j *Job, o dispatch.LineResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.publish(j, o)
}

// publish makes the outcome of a job known to those who wait for it.
func (e *Engine) publish(j *Job, o dispatch.LineResult) {
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
