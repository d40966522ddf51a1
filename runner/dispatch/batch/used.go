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

// inWords puts why a line was refused in the words of a batch.
func inWords(err error) error {
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

// Taken reports whether a line was refused because another run has its id: the summary says that once for all lines.
func (o Outcome) Taken() bool {
	var used *request.UsedError
	return errors.As(o.Err, &used) || o.busy()
}

// busy reports whether that one runs now.
func (o Outcome) busy() bool {
	var busy *request.BusyError
	return errors.As(o.Err, &busy)
}
