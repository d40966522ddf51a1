package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/spec"
)

// NotFoundError says that there is no such run or output.
type NotFoundError struct{ Err error }

func (e *NotFoundError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NotFoundError) Unwrap() error { return e.Err }

// RefusedError says that an analysis became no run.
type RefusedError struct{ Outcome dispatch.LineResult }

func (e *RefusedError) Error() string { return e.Outcome.Result.Message }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Outcome.Err }

// ended is the result of a run, or a *RefusedError if the analysis became no run.
func ended(o dispatch.LineResult) (result.Result, error) {
	if o.Result.Attempt > 0 {
		return o.Result, nil
	}
	return result.Result{}, &RefusedError{o}
}

// Find finds a run as a person names it: ID, ID@ATTEMPT or @last. If there is none the error is a *NotFoundError. A request that
// waits in this engine, or was refused, is never answered with an earlier attempt, or with a run whose id begins with its id.
func (e *Engine) Find(ctx context.Context, name string) (catalog.Run, error) {
	j, own := e.Job(name) // its row may be written between the two looks
	queued := own && j.Queued()
	run, err := watch.Find(ctx, e.host, name)
	another := err == nil && run.ID != name || errors.As(missing(err), new(*NotFoundError)) // a longer id, or none
	switch refused, ok := e.Refused(name); {
	case queued, own && another:
		return catalog.Run{}, &NotFoundError{fmt.Errorf("run %q is queued; it has logs and outputs when its turn has come", name)}
	case ok && another:
		return catalog.Run{}, &NotFoundError{fmt.Errorf("run %q did not start, and has no logs and outputs: %s", name, refused.Result.Message)}
	}
	return run, missing(err)
}

// missing says that there is no such run, if that is why a name was refused.
func missing(why error) error {
	if errors.Is(why, catalog.ErrNotFound) || errors.Is(why, catalog.ErrAmbiguous) {
		return &NotFoundError{why}
	}
	return why
}

// Show returns the result of a run as it is now.
func (e *Engine) Show(ctx context.Context, name string) (result.Result, error) {
	j, own := e.Job(name)
	if own && j.Queued() {
		return j.Pending(), nil
	}
	run, err := e.Find(ctx, name)
	if o, ok := e.Refused(name); ok && err != nil {
		return ended(o)
	}
	if own && errors.As(err, new(*NotFoundError)) {
		return j.Pending(), nil // its turn has come, and its row is not written yet
	}
	if err != nil {
		return result.Result{}, err
	}
	return e.result(ctx, run)
}

// Wait returns the result of a run when it has ended.
func (e *Engine) Wait(ctx context.Context, name string) (result.Result, error) {
	if j, ok := e.Job(name); ok {
		return j.await(ctx)
	}
	if o, ok := e.Refused(name); ok {
		return ended(o)
	}
	run, err := e.Find(ctx, name)
	if err != nil {
		return result.Result{}, err
	}
	return e.awaitOther(ctx, run.Key)
}

// Print runs an analysis of the engine's own at once, without a turn and a record, and returns what it printed, at most so many bytes.
func (e *Engine) Print(ctx context.Context, a spec.Analysis, most int) ([]byte, error) {
	return runner.Print(ctx, e.host, a, most)
}

// Stop ends a run, with now without a grace period, and returns its result.
func (e *Engine) Stop(ctx context.Context, name string, now bool) (result.Result, error) {
	if j, ok := e.Job(name); ok {
		j.Stop(now)
		return j.await(ctx)
	}
	run, err := watch.FindWhole(ctx, e.host, name)
	if err != nil {
		return result.Result{}, missing(err)
	}
	live, err := watch.Stop(ctx, e.host, run, now)
	if err != nil {
		return result.Result{}, err
	}
	defer live.Close() // its lock identifies us until then
	return e.awaitOther(ctx, run.Key)
}

// awaitOther waits for a run of another process.
func (e *Engine) awaitOther(ctx context.Context, key catalog.Key) (result.Result, error) {
	run, err := watch.Await(ctx, e.host, key)
	switch {
	case ctx.Err() != nil:
		return result.Result{}, context.Cause(ctx)
	case err != nil:
		return result.Result{}, err
	}
	return e.result(ctx, run)
}

// result is that of a run in the catalog.
func (e *Engine) result(ctx context.Context, run catalog.Run) (result.Result, error) {
	done, err := e.Reading(ctx)
	if err != nil {
		return result.Result{}, err
	}
	defer done()
	return watch.Show(ctx, e.host, run)
}
