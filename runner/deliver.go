package runner

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
)

// deliver calls the hook of a committed run, if any, and exports its outputs if requested.
func (r *run) deliver(ctx context.Context, end judge.End) judge.End {
	defer r.span("hook and export")()
	if end.Report.PostProcess != nil {
		end = r.callHook(ctx, end)
	}
	if r.task.Plan.Export != nil {
		end = r.export(ctx, end)
	}
	return end
}

// callHook calls the hook and amends the ledger. Its outcome decides whether the directory is kept.
func (r *run) callHook(ctx context.Context, end judge.End) judge.End {
	r.space.Warn(r.space.CloseIngest()) // all of it is committed, and gc waits for its lock
	req := r.task.Request
	hook := *req.Hook
	hook.Environ = spans.From(ctx).Variables(spans.HookPhase)
	done, failed := deliver.CallHook(ctx, r.host, hook, r.result(end), req.Stop)
	after := judge.AfterHook(end.Outcome, end.Row.Key, failed)
	end.Report.PostProcess = &done
	end.WorkGone = r.space.WorkGone()
	if end.Keep = end.Keep && end.KeepWork(after); !end.Keep {
		end.Report.Kept = ""
	}
	if err := deliver.Amend(ctx, r.ledger, &end.Row, after, end.Report); err != nil {
		err = fmt.Errorf("the post-process command has ended, which could not be recorded: %w", err)
		after = judge.AfterHook(judge.Completed, end.Row.Key, err)
	}
	end.Outcome = after
	return end
}

// export writes the outputs to a directory; a failure makes a complete run an error.
func (r *run) export(ctx context.Context, end judge.End) judge.End {
	left, err := deliver.Export(ctx, r.host, end.Row, r.task.Plan.Export)
	warning := left.Warning()
	if err != nil {
		err = fmt.Errorf("export to %q: %w", r.task.Plan.Analysis.Export, err)
		warning = result.NotExported + result.Sentence(err)
	}
	if err == nil || end.Outcome.State != outcome.Complete {
		if warning != "" {
			end.Report.Warnings = append(end.Report.Warnings, warning)
			r.space.Warn(deliver.Amend(ctx, r.host.Catalog, &end.Row, end.Outcome, end.Report))
		}
		return end
	}
	end.Outcome = outcome.Fault(outcome.ReasonExport, result.Sentence(err))
	end.Row.Outcome = end.Outcome
	r.space.Warn(r.ledger.Amend(ctx, end.Row))
	return end
}
