package runner

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
)

// deliver calls the hook of a committed run, if any, and exports its outputs if requested.
func (r *run) deliver(ctx context.Context, end commit.End, final commit.Final) commit.Final {
	defer r.span("hook and export")()
	if final.Report.PostProcess != nil {
		final = r.callHook(ctx, end, final)
	}
	if r.task.Plan.Export != nil {
		final = r.export(ctx, final)
	}
	return final
}

// callHook calls the hook and amends the ledger. Its outcome decides whether the directory is kept.
func (r *run) callHook(ctx context.Context, end commit.End, final commit.Final) commit.Final {
	r.space.Warn(r.space.CloseIngest()) // all of it is committed, and gc waits for its lock
	req := r.task.Request
	hook := *req.Hook
	hook.Environ = spans.From(ctx).Variables(spans.HookPhase)
	done, failed := deliver.CallHook(ctx, r.host, hook, r.result(end, final), req.Stop)
	after := judge.AfterHook(final.Outcome, final.Row.Key, failed)
	final.Report.PostProcess = &done
	if final.Keep = final.Keep && r.now(end).KeepWork(after); !final.Keep {
		final.Report.Kept = ""
	}
	if err := deliver.Amend(ctx, r.ledger, &final.Row, after, final.Report); err != nil {
		err = fmt.Errorf("the post-process command has ended, which could not be recorded: %w", err)
		after = judge.AfterHook(judge.Completed, final.Row.Key, err)
	}
	final.Outcome = after
	return final
}

// unexported says of a run that is committed later that its export is left to the caller.
func (r *run) unexported(final commit.Final) commit.Final {
	if r.task.Plan.Export == nil {
		return final
	}
	final.Report.Warnings = append(final.Report.Warnings, deliver.NothingWritten(r.task.Plan.Analysis.Export, final.Row.Key))
	report, err := json.Marshal(final.Report)
	if err == nil {
		final.Row.Report = report
	}
	r.space.Warn(err)
	return final
}

// export writes the outputs to a directory; a failure makes a complete run an error.
func (r *run) export(ctx context.Context, final commit.Final) commit.Final {
	left, err := deliver.Export(ctx, r.host, final.Row, r.task.Plan.Export)
	warning := left.Warning()
	if err != nil {
		err = fmt.Errorf("export to %q: %w", r.task.Plan.Analysis.Export, err)
		warning = result.NotExported + result.Sentence(err)
	}
	if err == nil || final.Outcome.State != outcome.Complete {
		if warning != "" {
			final.Report.Warnings = append(final.Report.Warnings, warning)
			r.space.Warn(deliver.Amend(ctx, r.host.Catalog, &final.Row, final.Outcome, final.Report))
		}
		return final
	}
	final.Outcome = outcome.Fault(outcome.ReasonExport, result.Sentence(err))
	final.Row.Outcome = final.Outcome
	r.space.Warn(r.ledger.Amend(ctx, final.Row))
	return final
}
