// Package commit writes the end of a run, as it was judged, with its outputs into the catalog (Run): blobs first, then one transaction,
// which is idempotent by id and attempt. Transient errors are retried; an end that is not committed is whole, and the caller keeps it.
package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// DefaultTimeout is how long a commit is retried on transient errors.
const DefaultTimeout = 60 * time.Second

// Run commits a judged end with the entries of its harvest. The user's second signal ends the retries.
func Run(ctx context.Context, host *phase.Host, ledger phase.Ledger, e judge.End, stop <-chan request.StopSignal) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer allowGivingUp(host.Log, e.Row.ID, stop, cancel)()
	timeout := cmp.Or(host.CommitTimeout, DefaultTimeout)
	next, err := e.Harvest.Entries.Read()
	if err == nil {
		err = KeepBlobs(ctx, host.Blobs, timeout, e.Row, next)
	}
	if err != nil {
		return err
	}
	return retry(ctx, until(time.Now().Add(timeout)), func() error {
		next, err := e.Harvest.Entries.Read() // an earlier iterator may be used up
		if err != nil {
			return err
		}
		return cmp.Or(ledger.Commit(ctx, e.Row, next), CheckStores(host))
	})
}

// CheckStores reports as an error that the catalog's file, or the directory of blobs, is not the one any more that was opened: then
// what was committed is not there, and nothing of the run may be removed.
func CheckStores(host *phase.Host) error {
	if c, ok := host.Catalog.(interface{ CheckReplaced() error }); ok {
		if err := c.CheckReplaced(); err != nil {
			return err
		}
	}
	return host.Blobs.CheckReplaced()
}

// until allows retries up to a deadline.
func until(deadline time.Time) (allowed func() bool) {
	return func() bool { return time.Now().Before(deadline) }
}

// retry calls commit until it succeeds, fails for good, or no retry is allowed or ctx ends.
func retry(ctx context.Context, allowed func() bool, commit func() error) error {
	var last error
	for pause := (backoff.Backoff{First: 10 * time.Millisecond, Longest: time.Second}); ; {
		err := commit()
		switch {
		case err == nil, errors.Is(err, phase.ErrSuperseded):
			return err
		case ctx.Err() != nil:
			return givenUp(ctx, last)
		case !transient(err), !allowed():
			return err
		}
		last = err
		if !pause.Wait(ctx) {
			return givenUp(ctx, last)
		}
	}
}

// transient reports whether another try may help against an error of the catalog or of the blob store.
func transient(err error) bool { return catalog.IsTransient(err) || errors.Is(err, blob.ErrTransient) }

func givenUp(ctx context.Context, last error) error {
	if last == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), last)
}

// Slow is when a commit takes so long that signals are for it: earlier ones are for the hook.
const Slow = time.Second

// allowGivingUp lets the user end the retries: the first signal after a run prints what will happen, the second gives up.
// done stops listening.
func allowGivingUp(log *slog.Logger, id string, stop <-chan request.StopSignal, giveUp context.CancelCauseFunc) (done func()) {
	finished := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		select {
		case <-finished:
			return
		case <-time.After(Slow):
		}
		for asked := false; ; asked = true {
			select {
			case <-finished:
				return
			case signal := <-stop:
				if asked {
					giveUp(fmt.Errorf("given up at %s", signal.Name))
					return
				}
				log.Warn("run " + id + " has ended and its result is being committed; a second signal keeps it for a later command")
			}
		}
	})
	return func() { close(finished); listening.Wait() }
}
