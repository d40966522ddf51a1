package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// readsAtOnce bounds what list, show and others hold in memory.
const readsAtOnce = 4

// Reading waits for a place among those that read the catalog, until ctx ends.
func (e *Engine) Reading(ctx context.Context) (done func(), err error) {
	select {
	case e.reads <- struct{}{}:
		return func() { <-e.reads }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// List lists runs of the catalog, the newest first.
func (e *Engine) List(ctx context.Context, filter catalog.Filter) ([]catalog.Run, error) {
	done, err := e.Reading(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return watch.List(ctx, e.host, filter)
}

// Outputs are outputs and rejected entries of a run in the order of their paths, at most limit after the first from. next is the
// from of the next page; 0: this is the last.
func (e *Engine) Outputs(ctx context.Context, run catalog.Run, from, limit int) (entries []outputs.Entry, next int, err error) {
	done, err := e.Reading(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	seen := 0
	err = e.host.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		seen++
		if seen > from+limit {
			next = seen - 1
			return false
		}
		if seen > from {
			entries = append(entries, e)
		}
		return true
	})
	return entries, next, err
}

// Output finds an output of a run by its path. If there is none the error is a *NotFoundError.
func (e *Engine) Output(ctx context.Context, run catalog.Run, path string) (outputs.Entry, error) {
	entry, err := e.host.Catalog.Output(ctx, run.Key, []byte(path))
	if errors.Is(err, catalog.ErrNotFound) {
		return entry, &NotFoundError{fmt.Errorf("run %q has no output %q", run.Key, path)}
	}
	return entry, errors.Join(err, deliver.OutputsRemoved(run))
}

// OutputOf finds an output by its digest, of the newest run that has one. If there is none the error is a *NotFoundError.
func (e *Engine) OutputOf(ctx context.Context, sha256 string) (output catalog.FoundOutput, err error) {
	done, err := e.Reading(ctx)
	if err != nil {
		return output, err
	}
	defer done()
	found := false
	err = e.host.Catalog.FindOutputs(ctx, catalog.OutputQuery{Digest: sha256}, func(o catalog.FoundOutput) bool {
		found, output = o.OutputsRemovedAt.IsZero(), o
		return !found
	})
	if err == nil && !found {
		err = &NotFoundError{errors.New("no run has an output of that digest")}
	}
	return output, err
}

// Logs copies what there is of a run's streams, with follow all up to its end, and returns the run as it is then.
func (e *Engine) Logs(ctx context.Context, run catalog.Run, to [2]io.Writer, follow bool) (catalog.Run, error) {
	run, err := watch.CopyLogs(ctx, e.host, run, to, follow)
	switch {
	case ctx.Err() != nil:
		return run, context.Cause(ctx)
	case errors.Is(err, watch.ErrDead):
		return run, watch.Killed(run.Key)
	case err != nil:
		return run, fmt.Errorf("logs of run %q: %w", run.Key, err)
	}
	return run, nil
}

// Export writes the outputs of a run and its result into a directory.
func (e *Engine) Export(ctx context.Context, run catalog.Run, dir string, overwrite bool) (left deliver.LeftOut, err error) {
	if err := deliver.OutputsHere(run); err != nil {
		return left, err
	}
	done, err := e.Reading(ctx)
	if err != nil {
		return left, err
	}
	defer done()
	return deliver.ExportTo(ctx, e.host, run, dir, overwrite)
}
