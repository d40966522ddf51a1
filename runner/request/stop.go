package request

import (
	"context"
	"time"
)

// StopSignal is why a run is to be stopped.
type StopSignal struct {
	ExitCode int    // 130 for SIGINT, 131 for SIGQUIT, 143 for SIGTERM, 129 for SIGHUP
	Name     string // "SIGINT"
	Now      bool   // without a grace period
}

// Send passes a signal on, unless stop is full: it has room for the two that a run acts on.
func (s StopSignal) Send(stop chan<- StopSignal) {
	select {
	case stop <- s:
	default:
	}
}

// UntilStop returns a context that the first stop request cancels, but only after the given time. If released earlier, the
// run receives the request, and ends as canceled. release returns the cause.
func UntilStop(ctx context.Context, stop <-chan StopSignal, after time.Duration) (_ context.Context, release func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
			return
		case <-time.After(after):
		}
		select {
		case <-done:
		case signal := <-stop:
			cancel(&StoppedError{signal})
		}
	}()
	return ctx, func() error {
		close(done)
		<-ended
		defer cancel(nil)
		return context.Cause(ctx)
	}
}
