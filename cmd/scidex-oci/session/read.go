package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// Reading waits for a place among those that read the catalog, until ctx ends.
func (s *Session) Reading(ctx context.Context) (done func(), err error) {
	select {
	case s.reads <- struct{}{}:
		return func() { <-s.reads }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// List lists runs of the catalog, the newest first.
func (s *Session) List(ctx context.Context, filter catalog.Filter) ([]results.Listed, error) {
	done, err := s.Reading(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	runs, err := watch.List(ctx, s.Stores.Host, filter)
	if err != nil {
		return nil, err
	}
	listed := []results.Listed{}
	for _, run := range runs {
		listed = append(listed, results.NewListed(run))
	}
	return listed, nil
}

// Page are outputs and rejected entries of a run in the order of their paths, at most limit after the first from. next is the
// from of the next page; 0: this is the last.
func (s *Session) Page(ctx context.Context, key catalog.Key, from, limit int) (entries []outputs.Entry, next int, err error) {
	done, err := s.Reading(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	seen := 0
	err = s.Stores.Catalog.Outputs(ctx, key, func(e outputs.Entry) bool {
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

// Output finds an output of a run by its path. Where there is none the error is a *NotFoundError.
func (s *Session) Output(ctx context.Context, run catalog.Run, path string) (outputs.Entry, error) {
	entry, err := s.Stores.Catalog.Output(ctx, run.Key, []byte(path))
	if errors.Is(err, catalog.ErrNotFound) {
		return entry, &NotFoundError{fmt.Errorf("run %q has no output %q", run.Key, path)}
	}
	return entry, errors.Join(err, deliver.OutputsRemoved(run))
}
