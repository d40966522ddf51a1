package batch

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/request"
)

// usedError is a request.UsedError in the words of a batch, which has no --again.
type usedError struct{ *request.UsedError }

func (e usedError) Error() string {
	return fmt.Sprintf("id %s was used before and is %s; choose another id, skip what is done with --resume, or run it as it is now with --rerun failed, changed or all", e.ID, e.State)
}

// Unwrap returns the cause.
func (e usedError) Unwrap() error { return e.UsedError }

// busyError is a request.BusyError in the words of a batch: often the other process is the same batch, started twice.
type busyError struct{ *request.BusyError }

func (e busyError) Error() string {
	return fmt.Sprintf("id %s is run by another command now; --resume takes its result when that has ended", e.ID)
}

// Unwrap returns the cause.
func (e busyError) Unwrap() error { return e.BusyError }

// InWords puts why a line was refused in the words of a batch.
func InWords(err error) error {
	var used *request.UsedError
	var busy *request.BusyError
	switch {
	case errors.As(err, &used):
		return usedError{used}
	case errors.As(err, &busy):
		return busyError{busy}
	}
	return err
}
