package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Current returns a run as it is to be shown: one with a pending outcome ended as its launcher said. Its entries are those
// of its record.
func Current(host *phase.Host, run catalog.Run) (_ catalog.Run, waits bool) {
	if run.State.Final() || workspace.LocationOf(run).State != workspace.StatePath(host.Root, run.Key) || !pending.Exists(host, run.Key) {
		return run, false
	}
	var o pending.Record
	err := record.Peek(pending.Path(host, run.Key), &o)
	if errors.Is(err, fs.ErrNotExist) {
		return run, false // it has just been committed
	}
	if err != nil {
		o.Message = fmt.Sprintf("the result could not be committed, and what was kept of it in %q cannot be read: %v", pending.Path(host, run.Key), err)
	}
	run.Outcome = outcome.Fault(outcome.ReasonCommit, o.Message)
	run.StartedAt, run.FinishedAt, run.Signal = o.Run.StartedAt, o.Run.FinishedAt, o.Run.Signal
	run.Report, run.Events = o.Run.Report, o.Run.Events
	run.OutputsTotal, run.RejectedTotal = o.Run.OutputsTotal, o.Run.RejectedTotal
	return run, true
}

// showWaiting is Show for a pending outcome.
func showWaiting(host *phase.Host, run catalog.Run) (result.Result, error) {
	res, err := result.New(run)
	if err != nil {
		return res, err
	}
	res.SetEvents(run.Events)
	content, err := record.Open(pending.Path(host, run.Key), &pending.Record{})
	if err != nil {
		res.OutputsTotal, res.RejectedTotal, res.ListingTruncated = 0, 0, false
		res.Message = fmt.Sprintf("the result could not be committed, and what was kept of it in %q cannot be read: %v", pending.Path(host, run.Key), err)
		return res, workspace.Ignore(err, record.ErrDamaged)
	}
	defer content.Close()
	var first result.Excerpt
	if err := content.Each(first.Add); err != nil {
		return res, err
	}
	for _, entry := range first.Sorted() {
		res.AddEntry(entry)
	}
	return res, nil
}

// List is the catalog's, with runs whose outcome is pending as they are to be shown.
func List(ctx context.Context, host *phase.Host, filter catalog.Filter) ([]catalog.Run, error) {
	waiting, _, err := pending.List(host)
	if err != nil || len(waiting) == 0 {
		runs, failed := host.Catalog.List(ctx, filter)
		return runs, errors.Join(err, failed)
	}
	all := filter
	all.States, all.Reasons = nil, nil
	if len(filter.States)+len(filter.Reasons) > 0 { // how many match is seen below
		all.Limit = 0
	}
	runs, err := host.Catalog.List(ctx, all)
	var shown []catalog.Run
	for _, run := range runs {
		run, _ = Current(host, run)
		if fits(filter, run) && (filter.Limit == 0 || len(shown) < filter.Limit) {
			shown = append(shown, run)
		}
	}
	return shown, err
}
