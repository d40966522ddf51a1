package worker

import (
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// Step is a step of an attempt at an analysis.
type Step int

// The steps, in their order. A failed attempt skips some; each that is Taken is Ended or Superseded, unless the worker is
// drained before the start, or PostgreSQL does not answer.
const (
	Taken      Step = iota // there is a place for it on this worker, and its row exists
	Started                // its first instruction
	Exited                 // its last process is dead
	Harvested              // its working directory is read
	Committed              // its end is in the catalog
	Ended                  // nothing is left of it here
	Superseded             // instead of the last two: another worker has it
	// Steps is how many there are.
	Steps
)

// Progress is how far one attempt at an analysis is.
type Progress struct {
	Key    catalog.Key
	Class  string
	Step   Step             // the last
	Queued time.Time        // when its row was written, by the writer's clock
	At     [Steps]time.Time // when it came to each step; zero if it has not

	Files, Bytes int64 // its outputs, once it is Harvested

	// Of one that has Ended. Err is why its result is not in the catalog.
	Result result.Result
	Err    error
}

// Wait returns how long it was queued, at least 0: clocks of two hosts differ.
func (p Progress) Wait() time.Duration { return max(0, p.At[Taken].Sub(p.Queued)) }

// Took returns the time from one step to another; ok is false if it did not reach both.
func (p Progress) Took(from, to Step) (d time.Duration, ok bool) {
	if p.At[from].IsZero() || p.At[to].IsZero() {
		return 0, false
	}
	return max(0, p.At[to].Sub(p.At[from])), true
}

// Load is the current load of a worker.
type Load struct {
	// Free is what may still be granted; what is 0 in the Capacity is 0 here, too.
	Free admission.Resources
	// Running is the number of attempts between their first and last step, and Classes that of each class.
	Running int64
	Classes map[string]int64
}

// Load may be called at any time.
func (w *Worker) Load() Load {
	running, classes := w.running.read()
	return Load{Free: w.open().Free(), Running: running, Classes: classes}
}

// class is that of the job.
func (j *job) class() string { return j.ledger.claim.Job().Class }

func (w *Worker) open() *admission.Scheduler {
	w.opened.Do(func() { w.slots = admission.New(admission.Options{Runs: w.Options.Jobs, Total: w.Capacity}) })
	return w.slots
}

// taken is the first step.
func (j *job) taken() {
	j.running.add(j.class(), 1)
	row := j.ledger.row
	j.mu.Lock()
	j.progress = Progress{Key: row.Key, Class: j.class(), Queued: row.CreatedAt}
	j.mu.Unlock()
	p := j.pass(Taken)
	j.Log.Info("taken", "id", p.Key.ID, "attempt", p.Key.Attempt, "wait", p.Wait())
}

// pass notes a step and reports it.
func (j *job) pass(s Step) Progress {
	j.mu.Lock()
	j.progress.Step, j.progress.At[s] = s, time.Now()
	p := j.progress
	j.mu.Unlock()
	if j.Watch != nil {
		j.Watch(p)
	}
	return p
}

// observe records the steps that the runner reports, and gives up its slot once no process of the analysis is left.
func (j *job) observe(e event.Event) error {
	switch e.Type {
	case event.TypeStarted:
		j.pass(Started)
	case event.TypeExited:
		j.slot.Vacate()
		j.pass(Exited)
	case event.TypeHarvested:
		if h, ok := e.Data.(event.Harvested); ok {
			j.mu.Lock()
			j.progress.Files, j.progress.Bytes = h.Outputs, h.Bytes
			j.mu.Unlock()
		}
		j.pass(Harvested)
	default:
	}
	return nil
}

// tell is the last step.
func (j *job) tell(result result.Result, err error) {
	j.mu.Lock()
	j.progress.Result, j.progress.Err = result, err
	j.mu.Unlock()
	p := j.pass(Ended)
	about := []any{
		"id", p.Key.ID, "attempt", p.Key.Attempt, "state", result.State, "reason", result.Reason,
		"wait", p.Wait(), "duration", p.At[Ended].Sub(p.At[Taken]),
	}
	if err != nil {
		about = append(about, "error", err)
	}
	j.Log.Info("ended", about...)
	j.Ended(result, err)
}
