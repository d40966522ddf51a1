// Package stops says which run of a process with several is meant by a SIGTERM: `scidex-oci stop` sends it to the launcher,
// which its run shares with others.
package stops

import (
	"slices"
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Run is a run that may be stopped while others go on.
type Run struct {
	ID   string
	Stop chan request.StopSignal // with room for the two that a run acts on
	// received are the stop requests received for this run, and ahead how many of them came before their signal.
	received []int64
	ahead    int
}

// Send passes a signal on, and drops what is more than a run acts on.
func (r *Run) Send(s request.StopSignal) { s.Send(r.Stop) }

// Runs are the runs of a process that have not ended. The zero value is ready, and safe for concurrent use.
type Runs struct {
	mu  sync.Mutex
	all []*Run
}

// Add adds a run that starts now. Remove it at its end.
func (r *Runs) Add(id string) *Run {
	run := &Run{ID: id, Stop: make(chan request.StopSignal, 2)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, run)
	return run
}

// Remove takes a run out that has ended.
func (r *Runs) Remove(run *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.DeleteFunc(r.all, func(other *Run) bool { return other == run })
}

// Stop passes a signal on to all runs.
func (r *Runs) Stop(s request.StopSignal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.all {
		run.Send(s)
	}
}

// Asked reports whether a stop request was received for a run.
func (r *Runs) Asked(run *Run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(run.received) > 0
}

// Address passes a signal on to the runs with a new stop request, and reports whether it was for them. asked returns a
// number for each `scidex-oci stop` of a run (watch.AskedToStop). If there are several, the signals of the others are still
// to come. Any other signal is for all runs, also while a run that was asked to stop goes on.
func (r *Runs) Address(asked func(id string) []int64, s request.StopSignal) bool {
	if s.Name != "SIGTERM" {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	first := true
	for _, run := range r.all {
		for _, who := range asked(run.ID) {
			if slices.Contains(run.received, who) {
				continue
			}
			run.received = append(run.received, who)
			run.Send(s)
			if !first {
				run.ahead++
			}
			first = false
		}
	}
	return !first || r.answered()
}

// answered reports whether a signal belongs to a stop request before it.
func (r *Runs) answered() bool {
	for _, run := range r.all {
		if run.ahead > 0 {
			run.ahead--
			return true
		}
	}
	return false
}
