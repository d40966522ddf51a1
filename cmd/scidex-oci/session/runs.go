package session

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// NotFoundError says that there is no such run or output.
type NotFoundError struct{ Err error }

func (e *NotFoundError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NotFoundError) Unwrap() error { return e.Err }

// RefusedError says that an analysis became no run.
type RefusedError struct{ Outcome dispatch.Outcome }

func (e *RefusedError) Error() string { return e.Outcome.Result.Message }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Outcome.Err }

// Ended is the result of a run, or a *RefusedError where the analysis became no run.
func Ended(o dispatch.Outcome) (result.Result, error) {
	if o.Result.Attempt > 0 {
		return o.Result, nil
	}
	return result.Result{}, &RefusedError{o}
}

// Find finds a run as a person names it: ID, ID@ATTEMPT or @last. Where there is none the error is a *NotFoundError.
func (s *Session) Find(ctx context.Context, name string) (catalog.Run, error) {
	run, err := watch.Find(ctx, s.Stores.Host, name)
	if err != nil {
		return run, s.missing(ctx, name, err)
	}
	return run, nil
}

// missing says that there is no such run, where that is why a name was refused.
func (s *Session) missing(ctx context.Context, name string, why error) error {
	_, err := s.Stores.Catalog.Find(ctx, name)
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrAmbiguous) {
		return &NotFoundError{why}
	}
	return why
}

// Show returns the result of a run as it is now.
func (s *Session) Show(ctx context.Context, name string) (result.Result, error) {
	if j, ok := s.Engine.Find(name); ok && j.Queued() {
		return j.Pending(), nil
	}
	run, err := s.Find(ctx, name)
	if o, ok := s.Engine.Refused(name); ok && err != nil {
		return Ended(o)
	}
	if err != nil {
		return result.Result{}, err
	}
	return s.result(ctx, run)
}

// Wait returns the result of a run when it has ended.
func (s *Session) Wait(ctx context.Context, name string) (result.Result, error) {
	if j, ok := s.Engine.Find(name); ok {
		return await(ctx, j)
	}
	if o, ok := s.Engine.Refused(name); ok {
		return Ended(o)
	}
	run, err := s.Find(ctx, name)
	if err != nil {
		return result.Result{}, err
	}
	return s.awaitOther(ctx, run.Key)
}

// Stop ends a run, with now without a grace period, and returns its result.
func (s *Session) Stop(ctx context.Context, name string, now bool) (result.Result, error) {
	if j, ok := s.Engine.Find(name); ok {
		j.Stop(now)
		return await(ctx, j)
	}
	run, err := watch.FindWhole(ctx, s.Stores.Host, name)
	if err != nil {
		return result.Result{}, s.missing(ctx, name, err)
	}
	live, err := watch.Stop(ctx, s.Stores.Host, run, now)
	if err != nil {
		return result.Result{}, err
	}
	defer live.Close() // its lock identifies us until then
	return s.awaitOther(ctx, run.Key)
}

// await waits for a run of this engine.
func await(ctx context.Context, j *engine.Job) (result.Result, error) {
	select {
	case <-j.Done():
		return Ended(j.Outcome())
	case <-ctx.Done():
		return result.Result{}, context.Cause(ctx)
	}
}

// awaitOther waits for a run of another process.
func (s *Session) awaitOther(ctx context.Context, key catalog.Key) (result.Result, error) {
	run, err := watch.Await(ctx, s.Stores.Host, key)
	switch {
	case ctx.Err() != nil:
		return result.Result{}, context.Cause(ctx)
	case err != nil:
		return result.Result{}, err
	}
	return s.result(ctx, run)
}

// result is that of a run in the catalog.
func (s *Session) result(ctx context.Context, run catalog.Run) (result.Result, error) {
	done, err := s.Reading(ctx)
	if err != nil {
		return result.Result{}, err
	}
	defer done()
	return watch.Show(ctx, s.Stores.Host, run)
}
