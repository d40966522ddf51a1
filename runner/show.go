package runner

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Show makes the result of a run in the catalog.
func Show(ctx context.Context, host *phase.Host, run catalog.Run) (result.Result, error) {
	return show(ctx, host, run, func(result.Result) bool { return true })
}

// Summary is Show for a person: it lists up to so many outputs, and as many rejected entries where they come
// among the first of all.
func Summary(ctx context.Context, host *phase.Host, run catalog.Run, most int64) (result.Result, error) {
	return show(ctx, host, run, func(listed result.Result) bool {
		return int64(len(listed.Outputs)) < min(most, run.OutputsTotal) || int64(len(listed.Rejected)) < min(most, run.RejectedTotal)
	})
}

// show lists entries for as long as more says so, and never more than result.ListingMax.
func show(ctx context.Context, host *phase.Host, run catalog.Run, more func(listed result.Result) bool) (result.Result, error) {
	if run, waits := told(host, run); waits {
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

// result makes the result of a run that has just ended, from memory.
func (e *execution) result(v verdict) result.Result {
	run := e.run
	run.State, run.Reason, run.Message = v.state, string(v.reason), v.message
	run.ExitCode, run.Signal = v.exitCode, v.signal
	res, err := result.New(run)
	e.tell(err)
	res.Report = e.report
	res.SetEvents(run.Events)
	for _, entry := range e.excerpt.Sorted() {
		res.AddEntry(entry)
	}
	return res
}

// Refused is the result of a request that did not become a run.
func Refused(a spec.Analysis, err error, version string) result.Result {
	reason := result.ReasonSandbox
	var refused *RequestError
	var unusable *CatalogError
	switch {
	case errors.As(err, &unusable):
		reason = result.ReasonCommit
	case errors.As(err, &refused):
		reason = result.ReasonRequest
	}
	state, code := catalog.Error, result.ExitError
	var stopped *StoppedError
	if errors.As(err, &stopped) {
		state, reason, code = catalog.Canceled, result.ReasonStopped, stopped.Signal.ExitCode
	}
	request, marshalError := json.Marshal(a)
	if marshalError != nil {
		request = []byte("null")
	}
	now := time.Now()
	return result.Result{
		V: result.Version, ID: a.ID, State: state, Reason: reason, Message: sentence(err), ExitCode: code,
		CreatedAt: result.Millis(now), FinishedAt: result.Millis(now), Report: result.Report{Enforced: []result.Enforcement{}},
		Outputs: []result.Output{}, Rejected: []result.Rejected{}, Audit: []result.AuditEvent{},
		BootID: BootID(), ToolVersion: version, Analysis: request,
	}
}
