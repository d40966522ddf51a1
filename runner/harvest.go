package runner

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// harvest records how the analysis ended, reads its working directory and publishes what that holds.
func (r *run) harvest(ctx context.Context, end judge.End) judge.End {
	r.task.Observer.Exited(judge.Analysis(end.Ended), end.Exit.Finished)
	if err := r.space.NoteEnd(end.Ended); err != nil {
		return end.Harvested(harvest.Failed(err))
	}
	h := harvest.Run(ctx, harvest.Source{Supervisor: r.space.Supervisor, Ingest: r.space.Ingest, Root: r.space.Account.Root()}, end.Ended)
	if h.Failure == nil {
		r.task.Observer.Harvested(h.Outputs, h.Rejected, h.Bytes)
	}
	return end.Harvested(h)
}

// digests waits for the digests of the inputs, and identifies the action by them and the script. A stop request ends the wait; one that
// comes before it is long is for the commit.
func (r *run) digests(ctx context.Context, end judge.End) judge.End {
	report, digests := &end.Report, r.task.Digests
	if !digests.Started() {
		return end
	}
	defer r.span("wait for the digests of the inputs")()
	waiting, release := request.UntilStop(ctx, r.task.Request.Stop, commit.Slow)
	report.Inputs = digests.Wait(waiting)
	release() //nolint:errcheck // the digests say it
	id, err := r.task.Plan.ActionID(*report)
	report.ActionID = id
	r.space.Warn(err)
	for _, in := range report.Inputs {
		if in.Message != "" {
			report.Warnings = append(report.Warnings, fmt.Sprintf("%s %q has no digest: %s", in.Flag, in.Source, in.Message))
		}
		if in.Changed {
			report.Warnings = append(report.Warnings, fmt.Sprintf("%s %q was changed while the run went on: its digest may not be of what was read", in.Flag, in.Source))
		}
	}
	return end
}
