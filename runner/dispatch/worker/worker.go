package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/stops"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// Worker works on a queue.
type Worker struct {
	Host  *phase.Host
	Queue queue.Queue
	// Start starts what a run needs: that of a warm.Pool.
	Start warm.Start
	// Capacity is what all analyses together may be granted.
	Capacity admission.Resources
	// Labels are what jobs may require.
	Labels map[string]string
	// Limits is how those of analyses hold that do not say it (spec.Analysis.Limits).
	Limits  string
	Options queue.Options
	// Ended is called with each ended run, by several goroutines, and why its result is not in the catalog.
	Ended func(result.Result, error)
	// Watch, if not nil, is called after each step of each attempt, by several goroutines. It must not block.
	Watch func(Progress)
	Log   *slog.Logger

	opened     sync.Once
	slots      *admission.Scheduler
	running    tally
	draining   <-chan struct{}
	recovering sync.Mutex
	runs       stops.Runs // of its jobs
}

const (
	// slotTimeout bounds the wait for a slot here; then a job is given back for others.
	slotTimeout = 10 * time.Second
	// firstPause is when a job that got no slot is tried again; longestPause that of a job that cannot run here.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// pendingInterval is that of checks for pending results; each costs a listing of a directory.
	pendingInterval = 10 * time.Second
)

// Classes are those of its jobs, each once.
func (w *Worker) Classes() []string {
	if len(w.Options.Classes) == 0 {
		return []string{queue.DefaultClass}
	}
	return slices.Compact(slices.Sorted(slices.Values(w.Options.Classes)))
}

// Work takes jobs until ctx ends, and returns when none runs any more.
func (w *Worker) Work(ctx context.Context) error {
	done, err := w.enroll(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	w.open()
	w.draining = ctx.Done()
	latest, stop := context.WithCancel(ctx)
	var late sync.WaitGroup
	late.Go(func() { w.commitLate(latest) })
	err = w.Queue.Work(ctx, w.Options, w.do)
	stop()
	late.Wait()
	return errors.Join(err, done())
}

// Signal takes a SIGTERM: it stops the runs that `scidex-oci stop` means, and reports false if it means none.
func (w *Worker) Signal(s request.StopSignal) bool {
	return w.runs.Address(func(id string) []int64 { return watch.AskedToStop(w.Host, id) }, s)
}

// commitLate commits pending results once PostgreSQL is back, even if no job comes here meanwhile.
func (w *Worker) commitLate(ctx context.Context) {
	for again := time.NewTicker(pendingInterval); ; {
		select {
		case <-ctx.Done():
			again.Stop()
			return
		case <-again.C:
		}
		w.recovering.Lock()
		recovery.CommitPending(context.WithoutCancel(ctx), w.Host) // a drain finishes what has started
		w.recovering.Unlock()
	}
}

// do does one job.
func (w *Worker) do(ctx context.Context, claim queue.Claim) error {
	if missing := w.missing(claim.Job()); missing != "" && ctx.Err() == nil {
		return w.elsewhere(claim.Job(), missing)
	}
	slot, err := w.enter(ctx, claim.Job())
	if err != nil {
		return err
	}
	defer slot.Release()
	whole := context.WithoutCancel(ctx) // the row of a canceled job must end, too
	if err := w.recover(whole, claim.Job().ID); err != nil {
		return err
	}
	row, failures, err := claim.PrepareRow(whole)
	if errors.Is(err, queue.ErrDone) {
		return nil
	}
	if err != nil {
		return err
	}
	j := &job{Worker: w, cause: func() error { return context.Cause(ctx) }, slot: slot}
	j.ledger = &ledger{Catalog: w.Host.Catalog, claim: claim, row: row, then: func(run catalog.Run) queue.Then { return j.then(run, failures) }}
	j.ledger.committed = func() { j.pass(Committed) }
	j.taken()
	defer j.running.add(j.class(), -1)
	return j.run(ctx)
}

func limits(job queue.Job) admission.Resources {
	return admission.Resources{Memory: job.Memory, CPUs: job.CPUs}
}

// enter waits for a slot. That of a canceled job is nil.
func (w *Worker) enter(ctx context.Context, job queue.Job) (*admission.Slot, error) {
	waiting, cancel := context.WithTimeout(ctx, slotTimeout)
	defer cancel()
	go func() {
		select {
		case <-w.draining: // what has not started goes back at once
			cancel()
		case <-waiting.Done():
		}
	}()
	slot := w.open().Queue(limits(job))
	err := slot.Wait(waiting)
	if err == nil && ctx.Err() == nil {
		return slot, nil
	}
	slot.Release()
	switch {
	case ctx.Err() == nil:
		return nil, &queue.Later{After: firstPause, Why: fmt.Sprintf("worker %s had no room for it", w.Options.Name)}
	case errors.Is(context.Cause(ctx), queue.ErrCanceled): // its row is to say so
		return nil, nil
	}
	return nil, context.Cause(ctx)
}

// recover takes care of what a killed worker of this host and root left of an analysis, which may be its result, before its row is
// judged; and pending commits. While a process of this host is at the last attempt no other starts: both would have one
// directory.
func (w *Worker) recover(ctx context.Context, id string) error {
	w.recovering.Lock()
	defer w.recovering.Unlock()
	recovery.CommitPending(ctx, w.Host)
	last, err := w.Host.Catalog.Get(ctx, catalog.Key{ID: id})
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil || last.Host != host || last.State == outcome.Queued || last.State == outcome.Complete || last.State == outcome.Failed {
		return err
	}
	if last.State == outcome.Running {
		err = recovery.Recover(ctx, w.Host)
	}
	recovery.Tidy(ctx, w.Host)
	if err != nil || last.State != outcome.Running {
		return err
	}
	if last, err = w.Host.Catalog.Get(ctx, last.Key); err == nil && last.State == outcome.Running && watch.Occupies(w.Host, last) {
		err = &queue.Later{After: firstPause, Why: fmt.Sprintf("host %s is still at attempt %d", host, last.Attempt)}
	}
	return err
}

// job is one attempt at a job.
type job struct {
	*Worker
	*stops.Run
	cause  func() error // why it is to end; nil while it is not
	ledger *ledger
	slot   *admission.Slot

	mu       sync.Mutex
	progress Progress
}

// run runs it.
func (j *job) run(ctx context.Context) error {
	row := j.ledger.row
	j.Run = j.runs.Add(row.ID)
	defer j.runs.Remove(j.Run)
	a, err := plan.ReadQueued(row.Request)
	a.ID, a.Limits = row.ID, cmp.Or(a.Limits, j.Limits)
	if err != nil {
		return j.refuse(ctx, runner.Refused(a, &request.Error{Err: fmt.Errorf("the request of %q: %w", row.ID, err)}, j.Host.Version), err)
	}
	defer context.AfterFunc(ctx, func() { j.Send(signalOf(j.cause())) })()
	host := *j.Host
	host.Catalog = j.ledger
	job := j.ledger.claim.Job()
	parent, _ := spans.Parse(job.Trace.Parent, job.Trace.State) // a bad one is none
	req := request.Request{Analysis: a, Switches: request.Switches{NoAudit: job.NoAudit}, Parent: parent, Stop: j.Stop, Observe: j.observe}
	result, err := runner.New(&host, j.Start).Run(context.WithoutCancel(ctx), req) // what is half done is finished: Stop ends it
	if !j.ledger.started {
		if errors.Is(err, catalog.ErrUnreachable) { // the row is as it was
			return &queue.Later{After: firstPause, Why: fmt.Sprintf("worker %s did not reach the catalog", j.Options.Name)}
		}
		return j.refuse(ctx, result, err)
	}
	return j.ended(result, err)
}

// ended is the queue's error after a run.
func (j *job) ended(result result.Result, err error) error {
	l := j.ledger
	result.CreatedAt = &l.row.CreatedAt // as the catalog has it
	switch {
	case errors.Is(err, phase.ErrSuperseded):
		j.pass(Superseded)
		j.Log.Warn("another worker has the analysis; what this one made of it is gone", "run", l.row.String())
		return errSuperseded
	case err != nil:
		j.tell(result, err)
		return fmt.Errorf("%w: %w", queue.ErrOpen, err)
	}
	j.tell(result, nil)
	return j.outcome(result)
}

var errSuperseded = errors.New("another worker has it")

// outcome is the queue's error for a committed end.
func (j *job) outcome(result result.Result) error {
	if j.ledger.decided == queue.Finish {
		return nil
	}
	if cause := j.cause(); result.State == outcome.Canceled && cause != nil {
		return cause
	}
	return errors.New(result.Message)
}

// refuse ends a row that was not started. A drain leaves it as it was.
func (j *job) refuse(ctx context.Context, result result.Result, err error) error {
	if cause := j.cause(); cause != nil && !errors.Is(cause, queue.ErrCanceled) {
		return cause
	}
	l := j.ledger
	run := l.row
	run.Outcome = result.Outcome
	run.FinishedAt = run.EndsNow()
	switch lost := l.Commit(context.WithoutCancel(ctx), run, nothing); {
	case errors.Is(lost, phase.ErrSuperseded):
		j.pass(Superseded)
		return errSuperseded
	case lost != nil:
		return errors.Join(err, lost)
	}
	result.Attempt, result.CreatedAt = run.Attempt, &l.row.CreatedAt
	j.tell(result, nil)
	return j.outcome(result)
}

// then says what becomes of the job at the end of its run. Only failures outside the analysis are retried, and no run for which
// `scidex-oci stop` was called, also if a drain cuts its grace period.
func (j *job) then(run catalog.Run, failures int) queue.Then {
	cause, job := j.cause(), j.ledger.claim.Job()
	switch {
	case errors.Is(cause, queue.ErrCanceled), j.runs.Asked(j.Run), job.LastTry && !errors.Is(cause, queue.ErrDrained):
		return queue.Finish
	case run.State == outcome.Canceled && cause != nil: // by a drain, or because it took too long
		return queue.Requeue
	}
	switch run.State {
	case outcome.Error, outcome.Lost:
		if failures < job.Retries {
			return queue.Requeue
		}
	default:
	}
	return queue.Finish
}

// stoppedExit is the exit code of a stopped run: that of SIGTERM.
const stoppedExit = 143

// signalOf is the stop signal of a cause.
func signalOf(cause error) request.StopSignal {
	s := request.StopSignal{ExitCode: stoppedExit, Name: queue.ByDrain}
	switch {
	case errors.Is(cause, queue.ErrCanceled):
		s.Name = "scidex-oci queue cancel"
	case errors.Is(cause, queue.ErrOverdue):
		s.Name = queue.ByOverdue
	}
	return s
}
