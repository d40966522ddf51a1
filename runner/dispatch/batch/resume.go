package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Past gives the outcomes of earlier batches.
type Past interface {
	// Last returns the last recorded attempt of the line's id, and how its request differs from the line's. It returns
	// catalog.ErrNotFound if there was none.
	Last(ctx context.Context, line dispatch.Line, stop <-chan request.StopSignal) (result result.Result, changes []string, err error)
	// Refuse makes the result of a line that cannot be run.
	Refuse(line dispatch.Line, err error) dispatch.LineResult
	// PostProcess repeats only the hook of a run. It returns false if the caller has no hook.
	PostProcess(ctx context.Context, line dispatch.Line, last result.Result, stop <-chan request.StopSignal) (dispatch.LineResult, bool)
}

// Rerun says which lines run again, as the next attempt of their id, with the request and the script as they are now.
type Rerun string

// The lines that Rerun selects, by the last attempt of their id; RerunNone is none of them.
const (
	RerunNone    Rerun = ""
	RerunFailed  Rerun = "failed"  // it has not ended as complete
	RerunChanged Rerun = "changed" // its request or script was another one
	RerunAll     Rerun = "all"
)

func (r Rerun) selects(last result.Result, changed bool) bool {
	switch r {
	case RerunFailed:
		return last.State.Final() && last.State != outcome.Complete
	case RerunChanged:
		return changed
	case RerunAll:
		return true
	default:
		return false
	}
}

// Resuming is a Work that does only what earlier batches left to do, and what Rerun selects.
type Resuming struct {
	dispatch.Work
	Past  Past
	Rerun Rerun
	// Check, if not nil, refuses a line that is about to run.
	Check func(dispatch.Line) error
}

// Do skips a line that is complete or has failed, and returns its recorded result. An id names one request: without
// Rerun a line with another request under the same id is refused.
func (r Resuming) Do(ctx context.Context, line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
	switch {
	case line.Err != nil:
		return r.Work.Do(ctx, line, stop)
	case line.Analysis.ID == "":
		return r.Past.Refuse(line, &request.Error{Err: ErrNoID})
	}
	last, changes, err := r.Past.Last(ctx, line, stop)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return r.run(ctx, line, stop)
	case err != nil:
		return r.Past.Refuse(line, fmt.Errorf("look up %q to resume: %w", line.Analysis.ID, err))
	case r.Rerun.selects(last, len(changes) > 0):
		line.Rerun = true
		return r.run(ctx, line, stop)
	case len(changes) > 0 && r.Rerun == RerunNone:
		o := r.Past.Refuse(line, &request.Error{Err: fmt.Errorf(
			"the request of %q has changed since it was run: %s; run it as it is now with --rerun changed, take that back, or give the line another id",
			line.Analysis.ID, strings.Join(changes, "; "))})
		o.Changed = true
		return o
	}
	switch {
	case last.State == outcome.Complete, last.State == outcome.Failed:
		return dispatch.LineResult{Result: last, Passed: true, Changed: len(changes) > 0}
	case last.State == outcome.Error && last.Reason == outcome.ReasonPostProcess:
		if o, called := r.Past.PostProcess(ctx, line, last, stop); called {
			return o
		}
		return dispatch.LineResult{Result: last, Passed: true}
	}
	return r.run(ctx, line, stop)
}

func (r Resuming) run(ctx context.Context, line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
	if r.Check != nil {
		line.Err = r.Check(line)
	}
	return r.Work.Do(ctx, line, stop)
}

// ErrNoID refuses a line that has no id.
var ErrNoID = errors.New(`--resume and --rerun need an "id" on each line, by which its run is known; add the one that it had in the batch before`)
