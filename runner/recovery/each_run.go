package recovery

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// lister lists runs, the newest first.
type lister interface {
	List(ctx context.Context, filter catalog.Filter) ([]catalog.Run, error)
}

// pageRuns is how many runs eachRun holds at once.
const pageRuns = 500

// eachRun calls yield for each run, the newest first. yield may remove the run.
func eachRun(ctx context.Context, c lister, filter catalog.Filter, yield func(catalog.Run) error) error {
	filter.Limit = pageRuns
	for {
		runs, err := c.List(ctx, filter)
		if err != nil {
			return err
		}
		for _, run := range runs {
			filter.After = catalog.Mark{CreatedAt: run.CreatedAt, Key: run.Key}
			if err := yield(run); err != nil {
				return err
			}
		}
		if len(runs) < filter.Limit {
			return nil
		}
	}
}
