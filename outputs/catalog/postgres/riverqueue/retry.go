package riverqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// Retry queues a further attempt with a new job: River would cancel a canceled one again, and its tries are counted.
func (q *Queue) Retry(ctx context.Context, id string) (next catalog.Key, err error) {
	err = q.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		last, err := postgres.Last(ctx, tx, id)
		if err != nil {
			return err
		}
		was, err := get(ctx, tx, id)
		if err != nil {
			return err
		}
		switch {
		case last.State == outcome.Complete, last.State == outcome.Failed:
			return fmt.Errorf("it is %s: %w", last.State, queue.ErrNoRetry)
		case !last.State.Final() && was.State == queue.Ended:
			return fmt.Errorf("its job was given up and attempt %d is %s; \"scidex-oci queue cancel %s\" ends that: %w", last.Attempt, last.State, id, queue.ErrInQueue)
		case !last.State.Final(), was.State != queue.Ended:
			return fmt.Errorf("it is %s: %w", was.State, queue.ErrInQueue)
		}
		next, err = q.further(ctx, tx, last, was.Job)
		return err
	})
	switch {
	case errors.Is(err, catalog.ErrNotFound), errors.Is(err, queue.ErrNoRetry), errors.Is(err, queue.ErrInQueue):
		return next, err
	case err != nil:
		return next, fmt.Errorf("retry %q: %w", id, err)
	}
	return next, nil
}

// further writes the row of the attempt after last, and a job like old.
func (q *Queue) further(ctx context.Context, tx pgx.Tx, last catalog.Run, old int64) (key catalog.Key, err error) {
	var raw []byte
	opts := &river.InsertOpts{MaxAttempts: maxTries}
	err = tx.QueryRow(ctx, `SELECT args, queue, priority FROM scidex_oci.river_job WHERE id = $1`, old).Scan(&raw, &opts.Queue, &opts.Priority)
	if err != nil {
		return key, err
	}
	var a args
	if err := json.Unmarshal(raw, &a); err != nil {
		return key, fmt.Errorf("its job: %w", err)
	}
	if a.unread == nil && a.V != argsVersion {
		a.unread = fmt.Errorf("version %d", a.V)
	}
	if a.unread != nil {
		return key, fmt.Errorf("its job cannot be read: %w; submit it under another id", a.unread)
	}
	run := attemptAfter(last, a.Request)
	if err := postgres.Insert(ctx, tx, run); err != nil {
		return key, err
	}
	a.First, a.Last = run.Attempt, 0
	_, err = q.insert.InsertTx(ctx, tx, a, opts)
	return run.Key, err
}
