package runner

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/judge"
)

// postProcess calls the hook of a committed run, and amends the catalog. Its outcome decides whether the directory is kept.
func (e *execution) postProcess(ctx context.Context, f commit.Final, failure *judge.Failure) (v judge.Outcome, keep bool) {
	v, keep = f.Outcome, f.Keep
	if e.report.PostProcess == nil {
		return v, keep
	}
	if e.ingest != nil { // all of it is committed, and gc waits for its lock
		e.tell(e.ingest.Close())
		e.ingest = nil
	}
	done, failed := deliver.CallHook(ctx, e.Host, *e.request.Hook, e.result(v), e.request.Stop)
	after := v.AfterHook(e.run.Key, failed)
	e.report.PostProcess = &done
	if keep = keep && judge.KeepWork(e.ended(), after, failure, e.place.Ended, e.workGone()); !keep {
		e.report.Kept = ""
	}
	if err := deliver.Amend(ctx, e.Host, &e.run, after, e.report); err != nil {
		err = fmt.Errorf("the post-process command has ended, which could not be recorded: %w", err)
		return judge.Completed.AfterHook(e.run.Key, err), keep
	}
	return after, keep
}
