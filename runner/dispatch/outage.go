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

// Outage makes lines whose runs have not started wait while the server of the catalog cannot be reached. Without it (nil) they
// fail.
type Outage struct {
	Catalog interface {
		CatalogID(ctx context.Context) (string, error)
	}
	// Tell is called with the error when a line starts to wait and none waited, and with nil when all go on.
	Tell func(error)

	mu  sync.Mutex
	why error // nil: it is reached
}

// outagePause is the longest pause between two looks at a catalog that cannot be reached.
const outagePause = 5 * time.Second

// Do calls begin, and again once the catalog is reached if begin says that it is not. A stop request ends the wait as a
// *request.StoppedError.
func (o *Outage) Do(ctx context.Context, stop <-chan request.StopSignal, begin func() error) error {
	for {
		err := begin()
		var unusable *request.CatalogError
		if o == nil || !errors.As(err, &unusable) || !errors.Is(err, catalog.ErrUnreachable) {
			return err
		}
		waiting, release := request.UntilStop(ctx, stop, 0)
		o.wait(waiting)
		if err := release(); err != nil {
			return err
		}
	}
}

// wait returns when the catalog answers, or ctx ends.
func (o *Outage) wait(ctx context.Context) {
	for pause := (backoff.Backoff{First: outagePause / 50, Longest: outagePause}); ; {
		_, err := o.Catalog.CatalogID(ctx)
		if !errors.Is(err, catalog.ErrUnreachable) {
			o.note(nil)
			return
		}
		o.note(err)
		if !pause.Wait(ctx) {
			return
		}
	}
}

// note reports a change to Tell.
func (o *Outage) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if (o.why == nil) != (err == nil) {
		o.Tell(err)
	}
	o.why = err
}
