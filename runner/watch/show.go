package watch

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// Show makes the result of a run in the catalog.
func Show(ctx context.Context, host *phase.Host, run catalog.Run) (result.Result, error) {
	return show(ctx, host, run, func(result.Result) bool { return true })
}

// Summary is Show for a person: it lists up to most outputs, and as many rejected entries if they are among the first of
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
	run, killed, err := judgeLife(ctx, host, run)
	if err != nil {
		return result.Result{}, err
	}
	res, err := result.New(run)
	if err != nil {
		return res, err
	}
	if killed {
		res.Message = Killed(run.Key).Error()
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

// judgeLife reports whether a run has not ended and its launcher was killed. It returns the run as it ended, if that was just now.
func judgeLife(ctx context.Context, host *phase.Host, run catalog.Run) (_ catalog.Run, killed bool, err error) {
	if run.State != outcome.Running {
		return run, false, nil
	}
	live, err := Attach(host, run)
	if err == nil {
		return run, false, live.Close()
	}
	if !errors.Is(err, ErrDead) {
		return run, false, nil // it cannot be known here
	}
	run, err = host.Catalog.Get(ctx, run.Key)
	return run, run.State == outcome.Running, err
}

// Killed is the error of a run whose launcher was killed, so that its end was not recorded.
func Killed(key catalog.Key) error {
	return fmt.Errorf("run %q does not live any more: its scidex-oci was killed; \"scidex-oci gc\" records that", key)
}
