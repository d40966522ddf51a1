package dispatch

import (
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/stops"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Executor runs lines side by side: it starts one that has a slot, passes stop signals on, and gives the slot back when the line has
// ended. It is safe for concurrent use.
type Executor struct {
	stops.Runs
	slots   *admission.Scheduler
	freed   func()
	running sync.WaitGroup
}

// NewExecutor makes an Executor. freed is called, with no lock held, when a line that had no slot may have one now.
func NewExecutor(o admission.Options, freed func()) *Executor {
	o.Retry = freed
	return &Executor{slots: admission.New(o), freed: freed}
}

// Start runs a line by do, in a goroutine of its own, and returns its run; nil: there is no slot for it. The slot is held until do
// returns; then ended, if it is not nil, gets the outcome.
func (x *Executor) Start(line Line, do func(Line, <-chan request.StopSignal) LineResult, ended func(LineResult)) *stops.Run {
	slot := x.slots.Start(admission.LimitsOf(line.Analysis))
	if slot == nil {
		return nil
	}
	run := x.Add(line.Analysis.ID)
	if x.slots.Overlap > 0 {
		line.Admit, line.Vacate = slot.Wait, sync.OnceFunc(func() {
			slot.Vacate()
			x.freed()
		})
	}
	x.running.Go(func() {
		outcome := do(line, run.Stop)
		x.Remove(run)
		slot.Release()
		x.slots.Took(outcome.Wall())
		if ended != nil {
			ended(outcome)
		}
		x.freed()
	})
	return run
}

// Wait waits until no line runs. None may be started meanwhile.
func (x *Executor) Wait() { x.running.Wait() }
