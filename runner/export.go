package runner

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/judge"
)

// export delivers the outputs if requested; a failure makes a run of ours an error.
func (e *execution) export(ctx context.Context, v judge.Outcome) judge.Outcome {
	dir := e.plan.Analysis.Export
	if dir == "" {
		return v
	}
	err := deliver.Export(ctx, e.Host, e.run, dir, e.request.Overwrite)
	if err == nil {
		return v
	}
	if v.State == catalog.Complete {
		v.State, v.Reason, v.ExitCode = catalog.Error, result.ReasonExport, result.ExitError
		v.Message = result.Sentence(err)
		e.run.State, e.run.Reason, e.run.Message, e.run.ExitCode = v.State, string(v.Reason), v.Message, v.ExitCode
		e.tell(e.Catalog.Amend(ctx, e.run))
		return v
	}
	e.report.Warnings = append(e.report.Warnings, "the export is not complete: "+result.Sentence(err))
	return v
}
