package command

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/runner/request"
)

// interruptedError is returned by a command that a signal ended, and that left nothing behind.
type interruptedError struct{ by request.StopSignal }

func (e *interruptedError) Error() string { return "stopped by " + e.by.Name }

// UntilStopped calls do with a context that a signal cancels. The signal is then the error.
func UntilStopped(ctx context.Context, do func(context.Context) error) error {
	stop, done := StopSignals()
	defer done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case signal := <-stop:
			cancel(&interruptedError{signal})
		case <-ctx.Done():
		}
	}()
	err := do(ctx)
	if stopped := new(interruptedError); err != nil && errors.As(context.Cause(ctx), &stopped) {
		return stopped
	}
	return err
}
