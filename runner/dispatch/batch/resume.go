package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Past gives the outcomes of earlier batches.
type Past interface {
	// Last returns the last recorded attempt of the line's id, and how its request differs from the line's. It returns
	// catalog.ErrNotFound where there was none.
	Last(ctx context.Context, line Line, stop <-chan request.StopSignal) (result result.Result, changes []string, err error)
	// Refuse makes the outcome of a line that cannot be run.
	Refuse(line Line, err error) Outcome
	// PostProcess repeats only the hook of a run. It returns false where the caller has none.
	PostProcess(ctx context.Context, line Line, last result.Result, stop <-chan request.StopSignal) (Outcome, bool)
}

// Resuming is a Work that does only what earlier batches left to do.
type Resuming struct {
	Work
	Past Past
}

// Do skips a line that is complete or has failed, and returns its recorded result. An id stands for one request: a line with
// another request under the same id is refused.
func (r Resuming) Do(ctx context.Context, line Line, stop <-chan request.StopSignal) Outcome {
	switch {
	case line.Err != nil:
		return r.Work.Do(ctx, line, stop)
	case line.Analysis.ID == "":
		return r.Past.Refuse(line, &request.Error{Err: ErrNoID})
	}
	last, changes, err := r.Past.Last(ctx, line, stop)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return r.Work.Do(ctx, line, stop)
	case err != nil:
		return r.Past.Refuse(line, fmt.Errorf("look up %q to resume: %w", line.Analysis.ID, err))
	case len(changes) > 0:
		return r.Past.Refuse(line, &request.Error{Err: fmt.Errorf(
			"the request of %q has changed since it was run: %s; take that back, or give the line another id", line.Analysis.ID, strings.Join(changes, "; "))})
	}
	switch {
	case last.State == catalog.Complete, last.State == catalog.Failed:
		return Outcome{Result: last, Passed: true}
	case last.State == catalog.Error && last.Reason == result.ReasonPostProcess:
		if o, called := r.Past.PostProcess(ctx, line, last, stop); called {
			return o
		}
		return Outcome{Result: last, Passed: true}
	}
	return r.Work.Do(ctx, line, stop)
}

// ErrNoID refuses a line that has no id.
var ErrNoID = errors.New(`--resume needs an "id" on each line, by which its run is known; add the one that it had in the batch before`)
