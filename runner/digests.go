package runner

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// noteInputs waits for the digests; a stop request ends that. One that comes before the wait is long is for the commit.
func (e *execution) noteInputs(ctx context.Context) {
	if e.prints == nil {
		return
	}
	defer e.span("wait for the digests of the inputs")()
	waiting, release := request.UntilStop(ctx, e.request.Stop, commit.Slow)
	e.report.Inputs = e.prints.Settle(waiting, e.plan)
	release() //nolint:errcheck // the digests say it
	id, err := e.plan.ActionID(e.report)
	e.report.ActionID = id
	e.tell(err)
	for _, in := range e.report.Inputs {
		if in.Message != "" {
			e.report.Warnings = append(e.report.Warnings, fmt.Sprintf("%s %q has no digest: %s", in.Flag, in.Source, in.Message))
		}
		if in.Changed {
			e.report.Warnings = append(e.report.Warnings, fmt.Sprintf("%s %q was changed while the run went on: its digest may not be of what was read", in.Flag, in.Source))
		}
	}
}
