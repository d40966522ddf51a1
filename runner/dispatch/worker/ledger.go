package worker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// ledger is the catalog as the run of one job sees it. The queued row is hidden until the run creates it, and its end is
// committed with the job's.
type ledger struct {
	catalog.Catalog
	claim queue.Claim
	row   catalog.Run
	then  func(catalog.Run) queue.Then
	// committed is called once the run's end is committed.
	committed func()

	started bool       // the queued row has become this run's
	decided queue.Then // what its commit made of the job
}

// Get hides the queued row, which the run will take over: the attempt before is the last.
func (l *ledger) Get(ctx context.Context, key catalog.Key) (catalog.Run, error) {
	if key.ID != l.row.ID || key.Attempt != 0 || l.started {
		return l.Catalog.Get(ctx, key)
	}
	if l.row.Attempt == 1 {
		return catalog.Run{}, catalog.ErrNotFound
	}
	return l.Catalog.Get(ctx, catalog.Key{ID: key.ID, Attempt: l.row.Attempt - 1})
}

// Create writes the intent into the queued row.
func (l *ledger) Create(ctx context.Context, run catalog.Run) error {
	err := l.claim.Begin(ctx, run)
	l.started = err == nil
	return err
}

// Commit ends the run and decides what becomes of the job. A run that ended otherwise was taken from this worker, which is
// phase.ErrSuperseded.
func (l *ledger) Commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
	l.decided = l.then(run)
	err := l.claim.Commit(ctx, run, next, l.decided)
	if errors.Is(err, catalog.ErrEnded) {
		return fmt.Errorf("%w: %w", phase.ErrSuperseded, err)
	}
	if err == nil {
		l.committed()
	}
	return err
}

// nothing iterates over no entries.
func nothing() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }
