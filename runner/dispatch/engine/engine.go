package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/capacity"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/stops"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/turns"
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
	Do   func(ctx context.Context, line batch.Line, stop <-chan request.StopSignal, events batch.Events) batch.Outcome
	Room turns.Room
	// Account is what this engine shares with others; nil: nothing.
	Account *turns.Account
	// Jobs is how many analyses with the default limits there is room for; as many are prepared ahead, or committed, at once.
	Jobs int
	// Idle is how many besides Jobs the machine has processors and memory for.
	Idle int
	// Overlap is that of batch.Batch.
	Overlap bool
	Version string // of this program
	// Asked is that of batch.Batch.
	Asked func(id string) []int64
}

// Engine runs analyses.
type Engine struct {
	Options

	mu       sync.Mutex
	ctx      context.Context // of all runs
	turns    *turns.Turns
	short    capacity.Streak
	brief    capacity.Streak
	callers  []*Caller // the first has the next turn
	jobs     map[string]*Job
	vacant   int // of them, those whose analysis has ended
	number   int
	draining bool
	idle     *sync.Cond // no job is left
	refused  outcomes
}

// New makes an engine.
func New(ctx context.Context, o Options) *Engine {
	o.Jobs = max(o.Jobs, 1)
	e := &Engine{
		Options: o, ctx: ctx, short: capacity.Short(), brief: capacity.Brief(), jobs: map[string]*Job{},
		refused: outcomes{by: map[string]batch.Outcome{}},
	}
	e.turns = turns.NewShared(o.Room, o.Account, e.retry)
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
func (e *Engine) Refused(id string) (batch.Outcome, bool) {
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
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.Name == "SIGTERM" && e.Asked != nil && stops.Address(e.running(), e.Asked, s)
}

// Stop stops all runs.
func (e *Engine) Stop(s request.StopSignal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.running() {
		r.Send(s)
	}
}

// Empty reports whether no run is left.
func (e *Engine) Empty() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.jobs) == 0
}

// Wait waits until no run is left.
func (e *Engine) Wait() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.jobs) > 0 {
		e.idle.Wait()
	}
}

// running are the started jobs.
func (e *Engine) running() []*stops.Run {
	var all []*stops.Run
	for _, j := range e.jobs {
		if j.started {
			all = append(all, j.run)
		}
	}
	return all
}

// retry starts what there is room for when others have left some.
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
		turn := e.turn(j.demand())
		if turn == nil {
			return
		}
		c.queue[0], c.queue = nil, c.queue[1:]
		e.callers = slices.Delete(e.callers, i, i+1)
		if !c.left() {
			e.callers = append(e.callers, c)
		}
		e.start(j, turn)
	}
}

// turn is that of a job which may be started: it has its turn at once, or may be prepared before that. nil: it has to wait.
func (e *Engine) turn(d turns.Demand) *turns.Turn {
	if e.vacant >= e.Jobs {
		return nil
	}
	if turn := e.turns.Now(d); turn != nil {
		return turn
	}
	if e.turns.Waiting() < e.ahead() {
		return e.turns.Next(d)
	}
	return nil
}

// ahead is how many may be prepared while others run, as in a batch.
func (e *Engine) ahead() int {
	switch {
	case !e.Overlap:
		return 0
	case e.short.Lasts():
		return e.Jobs
	case e.brief.Lasts():
		return min(e.Idle, e.Jobs)
	}
	return 0
}

// start runs a job.
func (e *Engine) start(j *Job, turn *turns.Turn) {
	j.started = true
	if e.Overlap {
		j.line.Admit, j.line.Vacate = turn.Wait, sync.OnceFunc(func() { e.vacate(j, turn) })
	}
	go func() {
		outcome := e.Do(e.ctx, j.line, j.run.Stop, j.events)
		turn.End()
		e.end(j, outcome)
	}()
}

// vacate makes room for the next while outputs are committed.
func (e *Engine) vacate(j *Job, turn *turns.Turn) {
	turn.End()
	e.mu.Lock()
	defer e.mu.Unlock()
	j.vacant = true
	e.vacant++
	e.pump()
}

// end notes how a job ended.
func (e *Engine) end(j *Job, o batch.Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if j.vacant {
		e.vacant--
	}
	took := time.Duration(o.Result.Usage.WallMS) * time.Millisecond
	e.short.Add(took)
	e.brief.Add(took)
	e.settle(j, o)
	e.pump()
}

// settle publishes the outcome of a job.
func (e *Engine) settle(j *Job, o batch.Outcome) {
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
