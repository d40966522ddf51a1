package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// selectEntry reads a job and the last attempt of its analysis.
const selectEntry = `SELECT j.id, j.args ->> 'id', j.state::text, j.attempt::int, j.created_at, j.scheduled_at, j.attempted_at,
	coalesce(j.attempted_by[array_upper(j.attempted_by, 1)], ''), j.metadata ? 'cancel_attempted_at',
	ARRAY(SELECT e ->> 'error' FROM unnest(j.errors) AS e),
	coalesce(r.attempt, 0), coalesce(r.state, '')
	FROM scidex_oci.river_job j LEFT JOIN LATERAL (SELECT attempt, state FROM scidex_oci.analysis_run
		WHERE analysis_run.id = j.args ->> 'id' ORDER BY attempt DESC LIMIT 1) r ON true
	WHERE j.kind = '` + kind + `'`

// List returns jobs.
func (q *Queue) List(ctx context.Context, ended bool, limit int) (entries []queue.Entry, err error) {
	sql := selectEntry
	if !ended {
		sql += ` AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')`
	}
	sql += ` ORDER BY j.id DESC`
	if limit > 0 {
		sql += fmt.Sprintf(` LIMIT %d`, limit)
	}
	err = q.catalog.Reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql)
		if err != nil {
			return err
		}
		entries, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (queue.Entry, error) { return scan(row) })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the queue: %w", err)
	}
	return entries, nil
}

// Get returns the last job of an analysis.
func (q *Queue) Get(ctx context.Context, id string) (e queue.Entry, err error) {
	err = q.catalog.Reading(ctx, func(tx pgx.Tx) error {
		e, err = get(ctx, tx, id)
		return err
	})
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("look up %q in the queue: %w", id, err)
	}
	return e, err
}

// get finds a job by River's index of its arguments.
func get(ctx context.Context, tx pgx.Tx, id string) (queue.Entry, error) {
	e, err := scan(tx.QueryRow(ctx, selectEntry+` AND j.args @> jsonb_build_object('id', $1::text) ORDER BY j.id DESC LIMIT 1`, id))
	if errors.Is(err, pgx.ErrNoRows) {
		err = catalog.ErrNotFound
	}
	return e, err
}

func scan(row pgx.Row) (e queue.Entry, err error) {
	var state string
	var next time.Time
	err = row.Scan(&e.Job, &e.ID, &state, &e.Tries, &e.SubmittedAt, &next, &e.TakenAt, &e.Worker, &e.Canceling, &e.Errors, &e.Attempt, &e.RunState)
	switch state {
	case "running":
		e.State = queue.Running
	case "cancelled", "completed", "discarded":
		e.State = queue.Ended
	case "retryable":
		e.State, e.NextAt = queue.Retrying, &next
	default:
		e.State = queue.Waiting
		if next.After(time.Now()) {
			e.NextAt = &next
		}
	}
	return e, err
}
