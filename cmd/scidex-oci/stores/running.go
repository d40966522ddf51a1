package stores

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Stop stops a run, with now without its grace period. Close the Live once the run has ended.
func (st *Stores) Stop(ctx context.Context, run catalog.Run, now bool) (*watch.Live, error) {
	name := run.String()
	if run.State.Final() {
		return nil, fmt.Errorf("run %q has ended already: it is %s (%s)", name, run.State, run.Reason)
	}
	live, err := watch.Attach(st.Host, run)
	if err == nil {
		if err = live.Stop(now); err == nil {
			return live, nil
		}
		err = errors.Join(err, live.Close())
	}
	var elsewhere *watch.ElsewhereError
	switch {
	case errors.As(err, &elsewhere):
		return nil, fmt.Errorf("run %q cannot be stopped from here: %w", name, elsewhere)
	case errors.Is(err, watch.ErrDead):
		if run, err := st.Catalog.Get(ctx, run.Key); err == nil && run.State.Final() {
			return st.Stop(ctx, run, now)
		}
		return nil, Killed(run.Key)
	}
	return nil, fmt.Errorf("stop run %q: %w", name, err)
}

// Killed is the error of a run whose launcher died, so that its end was not recorded.
func Killed(key catalog.Key) error {
	return errors.New(watch.Killed(key))
}

// Await waits until a run has ended.
func (st *Stores) Await(ctx context.Context, key catalog.Key) (catalog.Run, error) {
	run, err := watch.Await(ctx, st.Host, key)
	if errors.Is(err, watch.ErrDead) {
		return run, Killed(key)
	}
	if err != nil {
		return run, fmt.Errorf("wait for run %q: %w", key, err)
	}
	return run, nil
}

// Liveness says of a run that has not ended whether it lives, and since when. "running (dead)" is one that gc has to record;
// of other hosts and roots only their location is known here.
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
