// Package stops says which run of a process with several is meant by a SIGTERM: `scidex-oci stop` sends it to the launcher,
// which its run shares with others.
package stops

import (
	"slices"

	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Run is a run that may be stopped alone. Its methods are called by one goroutine at a time.
type Run struct {
	ID   string
	Stop chan request.StopSignal // with room for the two that a run acts on
	// received are the stop requests received for this run, and ahead how many of them came before their signal.
	received []int64
	ahead    int
}

// NewRun makes a Run.
func NewRun(id string) *Run { return &Run{ID: id, Stop: make(chan request.StopSignal, 2)} }

// Asked reports whether a stop request was received for this run.
func (r *Run) Asked() bool { return len(r.received) > 0 }

// Send passes a signal on, and drops what is more than a run acts on.
func (r *Run) Send(s request.StopSignal) { s.Send(r.Stop) }

// Address passes a signal on to the runs with a new stop request, and reports whether it was for them. asked returns a
// number for each `scidex-oci stop` of a run (watch.AskedToStop). Where there are several, the signals of the others are still
// to come. Any other signal is for all runs, also while a run that was asked to stop goes on.
func Address(runs []*Run, asked func(id string) []int64, s request.StopSignal) bool {
	if s.Name != "SIGTERM" {
		return false
	}
	first := true
	for _, r := range runs {
		for _, who := range asked(r.ID) {
			if slices.Contains(r.received, who) {
				continue
			}
			r.received = append(r.received, who)
			r.Send(s)
			if !first {
				r.ahead++
			}
			first = false
		}
	}
	return !first || answered(runs)
}

// answered reports whether a signal belongs to a stop request before it.
func answered(runs []*Run) bool {
	for _, r := range runs {
		if r.ahead > 0 {
			r.ahead--
			return true
		}
	}
	return false
}
