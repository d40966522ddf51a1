package batchcmd

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
)

// past is what the catalog has of the lines of a batch that is resumed.
type past struct {
	work
}

// Last returns the last attempt of a line's id.
func (p past) Last(ctx context.Context, line batch.Line) (result.Result, []string, error) {
	run, err := p.stores.Catalog.Get(ctx, catalog.Key{ID: line.Analysis.ID})
	if err != nil {
		return result.Result{}, nil, err
	}
	changes, err := runner.Changes(run, line.Analysis)
	if err != nil {
		return result.Result{}, nil, err
	}
	result, err := p.stores.Runner.Show(ctx, run)
	return result, changes, err
}

// Refuse is the outcome of a line that cannot be run.
func (p past) Refuse(line batch.Line, err error) batch.Outcome {
	return p.told(p.refuse(line, p.placed(line, err)))
}

// PostProcess calls the hook of a run that is committed.
func (p past) PostProcess(ctx context.Context, line batch.Line, last result.Result, stop <-chan runner.StopSignal) (batch.Outcome, bool) {
	if p.request.Hook == nil {
		return batch.Outcome{}, false
	}
	p.begin(line)
	hook, done := p.hook(line)
	defer done()
	result, err := p.stores.Runner.PostProcess(ctx, catalog.Key{ID: last.ID, Attempt: last.Attempt}, *hook, false, stop)
	if result.ID == "" {
		return p.told(p.refuse(line, err)), true
	}
	return p.told(batch.Outcome{Result: result, Err: err}), true
}
