package watch

import (
	"context"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// eachPage is how many runs Each holds at once.
const eachPage = 500

// Each is List for any number of runs: it calls yield for each, the newest first, until yield returns false. No connection
// is held while yield runs, so that it may use the catalog.
func Each(ctx context.Context, host *phase.Host, filter catalog.Filter, yield func(catalog.Run) bool) error {
	waiting, _, err := pending.List(host)
	if err != nil {
		return err
	}
	query := filter
	query.Limit = eachPage
	if len(waiting) > 0 { // whose states are not those of the catalog
		query.States, query.Reasons = nil, nil
	}
	for n := 0; ; {
		page, err := host.Catalog.List(ctx, query)
		if err != nil {
			return err
		}
		for _, run := range page {
			query.After = catalog.Mark{CreatedAt: run.CreatedAt, Key: run.Key}
			run, _ = Current(host, run)
			if !fits(filter, run) {
				continue
			}
			if n++; !yield(run) || n == filter.Limit {
				return nil
			}
		}
		if len(page) < eachPage {
			return nil
		}
	}
}

// fits reports whether a run is in one of the states of a filter, and ended for one of its reasons.
func fits(filter catalog.Filter, run catalog.Run) bool {
	return (len(filter.States) == 0 || slices.Contains(filter.States, run.State)) &&
		(len(filter.Reasons) == 0 || slices.Contains(filter.Reasons, run.Reason))
}
