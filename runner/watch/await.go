package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// Await waits until a run has ended and its launcher has released it, and returns it as it is then. For a run of another host or
// root it polls the catalog, at most once a second.
func Await(ctx context.Context, host *phase.Host, key catalog.Key) (catalog.Run, error) {
	run, err := await(ctx, host, key)
	if errors.Is(err, ErrDead) {
		return run, Killed(key)
	}
	if err != nil {
		return run, fmt.Errorf("wait for run %q: %w", key, err)
	}
	return run, nil
}

// await is Await. ErrDead means that the run will never end, as its launcher was killed.
func await(ctx context.Context, host *phase.Host, key catalog.Key) (catalog.Run, error) {
	for pause := (backoff.Backoff{First: 50 * time.Millisecond, Longest: watchRow}); ; pause.Wait(ctx) {
		run, err := host.Catalog.Get(ctx, key)
		if err != nil {
			return run, err
		}
		err = outlast(ctx, host, run)
		var elsewhere *ElsewhereError
		switch {
		case ctx.Err() != nil:
			return run, ctx.Err()
		case errors.Is(err, ErrDead):
			if run, err = host.Catalog.Get(ctx, key); err != nil || run.State.Final() {
				return run, err
			}
			run, waits := Current(host, run)
			if !waits {
				err = ErrDead
			}
			return run, err
		case run.State.Final():
			return run, nil // and nothing is known of its launcher
		case !errors.As(err, &elsewhere):
			return run, err
		}
	}
}

// outlast waits for the end of a run's launcher, and returns ErrDead then.
func outlast(ctx context.Context, host *phase.Host, run catalog.Run) error {
	live, err := Attach(host, run)
	if err != nil {
		return err
	}
	defer live.Close()
	for ctx.Err() == nil {
		if ended, err := live.Ended(watchRow); ended || err != nil {
			return errors.Join(ErrDead, err)
		}
	}
	return ctx.Err()
}
