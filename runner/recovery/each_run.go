package recovery

import (
	"context"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// lister lists runs, the newest first.
type lister interface {
	List(ctx context.Context, filter catalog.Filter) ([]catalog.Run, error)
}

// eachRun calls yield for each run, the newest first, and holds some hundreds of them at a time.
func eachRun(ctx context.Context, c lister, filter catalog.Filter, yield func(catalog.Run) error) error {
	filter.Limit = 500
	for {
		runs, err := c.List(ctx, filter)
		if err != nil {
			return err
		}
		if len(runs) < filter.Limit {
			return forEach(runs, yield)
		}
		// The page may end amid the runs of one millisecond: those start the next one.
		oldest := runs[len(runs)-1].CreatedAt
		whole := slices.IndexFunc(runs, func(run catalog.Run) bool { return run.CreatedAt.Equal(oldest) })
		if err := forEach(runs[:whole], yield); err != nil {
			return err
		}
		if whole == 0 {
			filter.Limit *= 2
		}
		filter.Until = oldest.Add(time.Millisecond)
	}
}

func forEach(runs []catalog.Run, yield func(catalog.Run) error) error {
	for _, run := range runs {
		if err := yield(run); err != nil {
			return err
		}
	}
	return nil
}
