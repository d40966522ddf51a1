package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Away makes lines whose runs have not started wait while the server of the catalog cannot be reached. Without it (nil) they
// fail.
type Away struct {
	Catalog interface {
		CatalogID(ctx context.Context) (string, error)
	}
	// Tell is called with the error when a line starts to wait and none waited, and with nil when all go on.
	Tell func(error)

	mu  sync.Mutex
	why error // nil: it is reached
}

// awayPause is the longest pause between two looks at a catalog that is away.
const awayPause = 5 * time.Second

// Do calls begin, and again when the catalog is back if begin says that it is away. A stop request ends the wait as a
// *request.StoppedError.
func (a *Away) Do(ctx context.Context, stop <-chan request.StopSignal, begin func() error) error {
	for {
		err := begin()
		var unusable *request.CatalogError
		if a == nil || !errors.As(err, &unusable) || !errors.Is(err, catalog.ErrUnreachable) {
			return err
		}
		waiting, release := request.UntilStop(ctx, stop, 0)
		a.wait(waiting)
		if err := release(); err != nil {
			return err
		}
	}
}

// wait returns when the catalog answers, or ctx ends.
func (a *Away) wait(ctx context.Context) {
	for pause := (backoff.Backoff{First: awayPause / 50, Longest: awayPause}); ; {
		_, err := a.Catalog.CatalogID(ctx)
		if !errors.Is(err, catalog.ErrUnreachable) {
			a.note(nil)
			return
		}
		a.note(err)
		if !pause.Wait(ctx) {
			return
		}
	}
}

// note reports a change to Tell.
func (a *Away) note(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if (a.why == nil) != (err == nil) {
		a.Tell(err)
	}
	a.why = err
}
