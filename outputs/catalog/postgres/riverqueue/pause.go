package riverqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// allQueues is River's name for all queues.
const allQueues = "*"

// River pauses only queues that have a row. So a pause first makes the row of the default class, and a worker makes those of
// its classes at start, paused if another is: a pause covers all classes, new ones too.

// oneAtATime serializes the making of rows and pauses.
const oneAtATime = `SELECT pg_advisory_xact_lock(hashtext('scidex_oci'), hashtext('river_queue'))`

const makeRow = `INSERT INTO scidex_oci.river_queue (name, paused_at)
	VALUES ($1, (SELECT min(paused_at) FROM scidex_oci.river_queue)) ON CONFLICT (name) DO NOTHING`

// Pause stops workers from taking jobs.
func (q *Queue) Pause(ctx context.Context) error {
	err := q.queues(ctx, []string{defaultQueue}, func(ctx context.Context, tx pgx.Tx) error {
		return q.insert.QueuePauseTx(ctx, tx, allQueues, nil)
	})
	if err != nil {
		return fmt.Errorf("pause the queue: %w", err)
	}
	return nil
}

// Resume ends a pause.
func (q *Queue) Resume(ctx context.Context) error {
	err := q.queues(ctx, []string{defaultQueue}, func(ctx context.Context, tx pgx.Tx) error {
		return q.insert.QueueResumeTx(ctx, tx, allQueues, nil)
	})
	if err != nil {
		return fmt.Errorf("resume the queue: %w", err)
	}
	return nil
}

// queues makes missing rows of queues, then calls do.
func (q *Queue) queues(ctx context.Context, names []string, do func(ctx context.Context, tx pgx.Tx) error) error {
	return q.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, oneAtATime); err != nil {
			return err
		}
		for _, name := range names {
			if _, err := tx.Exec(ctx, makeRow, name); err != nil {
				return err
			}
		}
		return do(ctx, tx)
	})
}

// Paused returns since when the queue is paused; nil if it is not.
func (q *Queue) Paused(ctx context.Context) (since *time.Time, err error) {
	err = q.catalog.Reading(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT min(paused_at) FROM scidex_oci.river_queue`).Scan(&since)
	})
	if err != nil {
		return nil, fmt.Errorf("look whether the queue is paused: %w", err)
	}
	return since, nil
}
