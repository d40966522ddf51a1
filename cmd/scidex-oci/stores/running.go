package stores

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Liveness returns the state of a run that has not ended, and its age. "running (dead)" means that gc has to record its end. Of
// a run of another host or root only the location is known.
func (st *Stores) Liveness(ctx context.Context, run catalog.Run) (state, wall string) {
	state, wall = string(run.State), screen.Clock(workspace.Age(run).Milliseconds())
	if run.State == outcome.Queued { // no host yet
		return state, wall
	}
	live, err := watch.Attach(st.Host, run)
	var elsewhere *watch.ElsewhereError
	switch {
	case err == nil:
		_ = live.Close() // it was only checked
	case errors.Is(err, watch.ErrDead):
		if now, err := st.Catalog.Get(ctx, run.Key); err == nil && now.State.Final() { // it has just ended
			return string(now.State), format.Duration(UsageOf(now).WallMS)
		}
		return state + " (dead)", ""
	case errors.As(err, &elsewhere):
		state += " (on " + run.Host + ")"
	}
	return state, wall
}

// UsageOf is the usage that the catalog has of a run. It is zero before the end of the run.
func UsageOf(r catalog.Run) result.Usage {
	var report result.Report
	_ = json.Unmarshal(r.Report, &report) // a run that has not ended has none
	return report.Usage
}
