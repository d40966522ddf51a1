package runner

import (
	"context"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/preload"
)

// prepare adds to the plan the list of fonts, and what Python imports before the turn of the run.
func (r *run) prepare(ctx context.Context) {
	r.addFonts(ctx)
	r.preload()
}

// preload has Python started, and modules imported, before the turn of a run that may wait for it, if nothing prevents that.
func (r *run) preload() {
	p := r.task.Plan
	if p.Inputs.Script == nil || r.task.Request.Admit == nil {
		return
	}
	env, err := p.Environment()
	if err != nil {
		return // the start of the container says what is wrong with it
	}
	if why := preload.Obstacle(p.Analysis, p.Command, p.Inputs.Script.Inside, p.Inputs.Script.File, env); why != "" {
		r.task.Report.Start = &result.Start{Kind: result.StartCold, Reason: why}
		return
	}
	p.Extra.Ahead, p.Extra.Script = preload.Variables(p.Analysis.Preload), preload.Script
	p.Tree.Files = append(slices.Clip(p.Tree.Files), preload.File())
}
