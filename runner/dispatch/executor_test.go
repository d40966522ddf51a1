package dispatch

import (
	"sync/atomic"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// TestExecutor: a line has its slot until do returns, or no process of it is left; then there is one for the next.
func TestExecutor(t *testing.T) {
	var freed atomic.Int64
	x := NewExecutor(admission.Options{Total: admission.Resources{Memory: 4 << 30, CPUs: 8}, Overlap: 2}, func() { freed.Add(1) })
	line := Line{Analysis: spec.Analysis{ID: "a", Memory: 4 << 30}}
	vacate, vacated, end := make(chan struct{}), make(chan struct{}), make(chan struct{})
	run := x.Start(line, func(line Line, stop <-chan request.StopSignal) LineResult {
		if err := line.Admit(t.Context()); err != nil {
			t.Error(err)
		}
		<-vacate
		line.Vacate()
		close(vacated)
		<-end
		if s := <-stop; s.Name != "SIGTERM" {
			t.Errorf("it was stopped by %q", s.Name)
		}
		return LineResult{}
	}, nil)
	nothing := func(Line, <-chan request.StopSignal) LineResult { return LineResult{} }
	if run == nil || x.Start(line, nothing, nil) != nil {
		t.Fatal("not one of two was started")
	}
	close(vacate)
	<-vacated
	if freed.Load() != 1 || x.Start(line, nothing, nil) == nil {
		t.Errorf("the slot was freed %d times, and the next line has none", freed.Load())
	}
	x.Stop(request.StopSignal{Name: "SIGTERM"})
	close(end)
	x.Wait()
	if left := x.slots.Free(); left != x.slots.Total || freed.Load() != 3 {
		t.Errorf("%+v are free of %+v, freed %d times", left, x.slots.Total, freed.Load())
	}
}

// TestExecutorEnds: who is notified of an end may start the next line at once.
func TestExecutorEnds(t *testing.T) {
	x := NewExecutor(admission.Options{Runs: 1}, func() {})
	nothing := func(Line, <-chan request.StopSignal) LineResult { return LineResult{} }
	next := make(chan bool, 1)
	x.Start(Line{}, nothing, func(LineResult) { next <- x.Start(Line{}, nothing, nil) != nil })
	if !<-next {
		t.Error("the slot is still taken at the end of its line")
	}
	x.Wait()
}
