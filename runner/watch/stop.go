package watch

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// Stop asks the launcher of a run to end it, with now without its grace period. Close the Live once the run has ended.
func Stop(ctx context.Context, host *phase.Host, run catalog.Run, now bool) (*Live, error) {
	name := run.String()
	if run.State.Final() {
		return nil, fmt.Errorf("run %q has ended already: it is %s (%s)", name, run.State, run.Reason)
	}
	live, err := Attach(host, run)
	if err == nil {
		if err = live.stop(now); err == nil {
			return live, nil
		}
		err = errors.Join(err, live.Close())
	}
	var elsewhere *ElsewhereError
	switch {
	case errors.As(err, &elsewhere):
		return nil, fmt.Errorf("run %q cannot be stopped from here: %w", name, elsewhere)
	case errors.Is(err, ErrDead):
		if run, err := host.Catalog.Get(ctx, run.Key); err == nil && run.State.Final() {
			return Stop(ctx, host, run, now)
		}
		return nil, Killed(run.Key)
	}
	return nil, fmt.Errorf("stop run %q: %w", name, err)
}
