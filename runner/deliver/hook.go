package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Amend records a run's outcome after its commit.
func Amend(ctx context.Context, ledger phase.Ledger, run *catalog.Run, v outcome.Outcome, report result.Report) (err error) {
	run.Outcome = v
	if run.Report, err = json.Marshal(report); err != nil {
		return err
	}
	return ledger.Amend(ctx, *run)
}

// CallHook gives a run's result and copies of its outputs to a hook. The error says why the hook did not succeed.
func CallHook(ctx context.Context, host *phase.Host, h request.Hook, res result.Result, stop <-chan request.StopSignal) (_ result.PostProcess, err error) {
	notCalled := result.PostProcess{Command: h.Command}
	res.PostProcess = nil
	raw, err := json.Marshal(res)
	if err != nil {
		return notCalled, err
	}
	key := catalog.Key{ID: res.ID, Attempt: res.Attempt}
	view, err := openView(ctx, host, key)
	if err != nil {
		return notCalled, fmt.Errorf("the outputs could not be laid out for the post-process command: %w", err)
	}
	done, failure := executeHook(h, key, raw, view.path, stop)
	if err := view.remove(ctx); err != nil {
		host.Log.Warn("run "+res.ID+": the copies of the outputs could not be removed; gc tries again", "error", err)
	}
	return done, failure
}

// PostProcess calls only the hook of an ended run, not its analysis: of one whose hook has not succeeded, or of any with
// again. The result is what the catalog then says; its exit code is that of the run.
func PostProcess(ctx context.Context, host *phase.Host, key catalog.Key, h request.Hook, again bool, stop <-chan request.StopSignal) (_ result.Result, err error) {
	if err := store.Bind(ctx, host.Catalog, host.Blobs); err != nil {
		return result.Result{}, err
	}
	release, err := workspace.LockEnded(host, key)
	if err != nil {
		return result.Result{}, err
	}
	defer func() { err = errors.Join(err, release()) }()
	run, err := host.Catalog.Get(ctx, key)
	if err != nil {
		return result.Result{}, err
	}
	res, err := watch.Show(ctx, host, run)
	if err != nil {
		return res, err
	}
	if err := mayRepeat(res, again); err != nil {
		return res, err
	}
	return repeat(ctx, host, run, h, res, stop)
}

// mayRepeat refuses a run without a result to pass, or whose hook need not be repeated.
func mayRepeat(res result.Result, again bool) error {
	name := res.Key().String()
	failed := res.Reason == outcome.ReasonPostProcess
	switch {
	case !res.State.Final():
		return fmt.Errorf("run %q is %s; wait for its end", name, res.State)
	case (res.State == outcome.Error || res.State == outcome.Lost) && !failed && !res.PostProcess.Pending():
		return fmt.Errorf("run %q ended as %s (%s); its result is not whole, so run the analysis again with \"scidex-oci run --again %s\"",
			name, res.State, res.Reason, res.ID)
	case failed || res.PostProcess.Pending() || again:
		return nil
	case res.PostProcess == nil:
		return fmt.Errorf("run %q had no post-process command; add --again to call one anyway", name)
	}
	return fmt.Errorf("the post-process command of run %q has succeeded; add --again to repeat it", name)
}

// repeat calls the hook. Until that has ended the catalog says that it is due.
func repeat(ctx context.Context, host *phase.Host, run catalog.Run, h request.Hook, res result.Result, stop <-chan request.StopSignal) (result.Result, error) {
	v := run.Outcome
	if v.Reason == outcome.ReasonPostProcess { // only a complete run becomes one
		v = judge.Completed
	}
	report := res.Report
	report.PostProcess = &result.PostProcess{Command: h.Command}
	if err := Amend(ctx, host.Catalog, &run, judge.WhileHookRuns(v, run.Key), report); err != nil {
		return res, err
	}
	res.Outcome = v
	done, failure := CallHook(ctx, host, h, res, stop)
	report.PostProcess = &done
	if err := Amend(ctx, host.Catalog, &run, judge.AfterHook(v, run.Key, failure), report); err != nil {
		return res, errors.Join(failure, err)
	}
	res, err := watch.Show(ctx, host, run)
	return res, errors.Join(failure, err)
}
