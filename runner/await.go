package runner

import (
	"context"
	"errors"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Await waits until a run has ended and its launcher has let go of it, and returns it as it is then. ErrDead says
// that it will never end, because its launcher was killed. For a run of another host or root it asks the catalog, at
// most once a second.
func (r *Runner) Await(ctx context.Context, key catalog.Key) (catalog.Run, error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, watchRow) {
		run, err := r.Catalog.Get(ctx, key)
		if err != nil {
			return run, err
		}
		err = r.outlast(ctx, run)
		var elsewhere *ElsewhereError
		switch {
		case ctx.Err() != nil:
			return run, ctx.Err()
		case errors.Is(err, ErrDead):
			if run, err = r.Catalog.Get(ctx, key); err != nil || run.State.Final() {
				return run, err
			}
			run, waits := r.told(run)
			if !waits {
				err = ErrDead
			}
			return run, err
		case run.State.Final():
			return run, nil // and nothing can be told of its launcher
		case !errors.As(err, &elsewhere):
			return run, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// outlast waits for the end of a run's launcher, and returns ErrDead then.
func (r *Runner) outlast(ctx context.Context, run catalog.Run) error {
	live, err := r.Attach(run)
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
