package watch

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// Show makes the result of a run in the catalog.
func Show(ctx context.Context, host *phase.Host, run catalog.Run) (result.Result, error) {
	return show(ctx, host, run, func(result.Result) bool { return true })
}

// Summary is Show for a person: it lists up to most outputs, and as many rejected entries where they are among the first of
// all.
func Summary(ctx context.Context, host *phase.Host, run catalog.Run, most int64) (result.Result, error) {
	return show(ctx, host, run, func(listed result.Result) bool {
		return int64(len(listed.Outputs)) < min(most, run.OutputsTotal) || int64(len(listed.Rejected)) < min(most, run.RejectedTotal)
	})
}

// show lists entries while more returns true, and never more than result.ListingMax.
func show(ctx context.Context, host *phase.Host, run catalog.Run, more func(listed result.Result) bool) (result.Result, error) {
	if run, waits := Current(host, run); waits {
		return showWaiting(host, run)
	}
	res, err := result.New(run)
	if err != nil {
		return res, err
	}
	events, err := host.Catalog.Events(ctx, run.Key)
	if err != nil {
		return res, err
	}
	res.SetEvents(events)
	return res, host.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		res.AddEntry(e)
		return len(res.Outputs)+len(res.Rejected) < result.ListingMax && more(res)
	})
}
