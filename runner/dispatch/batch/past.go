package batch

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// PastRuns is a Past that reads a catalog.
type PastRuns struct {
	*dispatch.Runs
	Catalog interface {
		Get(ctx context.Context, key catalog.Key) (catalog.Run, error)
	}
}

// Last returns the last attempt of a line's id.
func (p PastRuns) Last(ctx context.Context, line dispatch.Line, stop <-chan request.StopSignal) (result.Result, []string, error) {
	var run catalog.Run
	err := p.Outage.Do(ctx, stop, func() (err error) {
		run, err = p.Catalog.Get(ctx, catalog.Key{ID: line.Analysis.ID})
		return unusable(err)
	})
	if err != nil {
		return result.Result{}, nil, err
	}
	changes, err := plan.Changes(run, line.Analysis)
	if err != nil {
		return result.Result{}, nil, err
	}
	last, err := watch.Show(ctx, p.Host, run)
	return last, changes, err
}

// unusable marks an error of the catalog.
func unusable(err error) error {
	if err == nil || errors.Is(err, catalog.ErrNotFound) {
		return err
	}
	return &request.CatalogError{Err: err}
}
