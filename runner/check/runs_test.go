package check

import (
	"context"
	"errors"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/request"
)

// The first signal cancels the context of a check, and all reach the runs that are alive.
func TestRunsAreStopped(t *testing.T) {
	stop := make(chan request.StopSignal)
	runs, ctx := NewRuns(t.Context(), stop)
	alive := &Run{Ended: make(chan struct{}), stop: make(chan request.StopSignal, 2)}
	runs.alive[alive] = true
	for _, name := range []string{"SIGINT", "SIGTERM"} {
		stop <- request.StopSignal{Name: name}
	}
	<-ctx.Done()
	var stopped *StoppedError
	if !errors.As(context.Cause(ctx), &stopped) || stopped.Error() != "stopped by SIGINT" {
		t.Errorf("%v", context.Cause(ctx))
	}
	for _, want := range []string{"SIGINT", "SIGTERM"} {
		if got := <-alive.stop; got.Name != want {
			t.Errorf("%s, want %s", got.Name, want)
		}
	}
	close(alive.Ended)
	runs.Close()
	for range 2 {
		if got := <-alive.stop; got.Name != "SIGTERM" || got.ExitCode != 143 {
			t.Errorf("%+v", got)
		}
	}
}
