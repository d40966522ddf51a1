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

// used reports whether a line was refused because a run has its id.
func (o Outcome) used() bool {
	var used *request.UsedError
	return errors.As(o.Err, &used)
}
