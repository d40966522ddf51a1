package batch

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Exporting is a Work that exports what another Work, or an earlier batch, has run. A failed export does not change the run in the
// catalog, so that --resume repeats only the export.
type Exporting struct {
	dispatch.Work
	// Export writes the outputs of a run, unless they are there already.
	Export func(ctx context.Context, run catalog.Key) (warning string, err error)
}

// Do exports the line's run, unless the line has an export of its own.
func (e Exporting) Do(ctx context.Context, line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
	o := e.Work.Do(ctx, line, stop)
	if line.Analysis.Export != "" || o.Err != nil || o.Result.Attempt == 0 || !o.Result.State.Final() {
		return o
	}
	warning, err := e.Export(ctx, catalog.Key{ID: o.Result.ID, Attempt: o.Result.Attempt})
	if err != nil {
		warning = result.NotExported + result.Sentence(err)
	}
	if err == nil || o.Result.State != outcome.Complete {
		if warning != "" {
			o.Result.Warnings = append(o.Result.Warnings, warning)
		}
		return o
	}
	o.Passed = false
	o.Result.Outcome = outcome.Fault(outcome.ReasonExport, "the run is complete, and its export is not: "+result.Sentence(err))
	return o
}
