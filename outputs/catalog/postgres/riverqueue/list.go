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

// open are the states of unfinished jobs.
const open = `'available', 'pending', 'retryable', 'running', 'scheduled'`

// selectEntry reads a job, the last attempt of its analysis, and why it waits: whether its queue is paused, whether any
// worker has reported it within three of River's intervals, and why the last worker returned it. Times are the database's,
// which River uses.
const selectEntry = `SELECT j.id, coalesce(j.args ->> 'id', ''), j.queue, j.priority, j.state::text, j.attempt::int,
	j.created_at, CASE WHEN j.state = 'retryable' OR j.scheduled_at > now() THEN j.scheduled_at END, j.attempted_at,
	coalesce(j.attempted_by[array_upper(j.attempted_by, 1)], ''), j.metadata ? 'cancel_attempted_at',
	ARRAY(SELECT coalesce(e ->> 'error', '') FROM unnest(j.errors) AS e),
	(SELECT jsonb_object_agg(key, value) FROM jsonb_each_text(CASE jsonb_typeof(j.args -> 'require') WHEN 'object' THEN j.args -> 'require' END)),
	coalesce(r.attempt, 0), coalesce(r.state, ''),
	coalesce(q.paused_at IS NOT NULL, false), coalesce(q.updated_at > now() - interval '30 min', false),
	CASE WHEN (j.metadata -> '` + returned + `' ->> 'taken') = extract(epoch FROM j.attempted_at)::text
		THEN j.metadata -> '` + returned + `' ->> 'why' END
	FROM scidex_oci.river_job j
	LEFT JOIN scidex_oci.river_queue q ON q.name = j.queue
	LEFT JOIN LATERAL (SELECT attempt, state FROM scidex_oci.analysis_run
		WHERE analysis_run.id = j.args ->> 'id' ORDER BY attempt DESC LIMIT 1) r ON true
	WHERE j.kind = '` + kind + `'`

// returned is the metadata key for why a worker returned a job.
const returned = "scidex_returned"

// List returns jobs.
func (q *Queue) List(ctx context.Context, ended bool, limit int) (entries []queue.Entry, err error) {
	sql := selectEntry
	if !ended {
		sql += ` AND j.state IN (` + open + `)`
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

// get finds a job by River's index of arguments.
func get(ctx context.Context, tx pgx.Tx, id string) (queue.Entry, error) {
	e, err := scan(tx.QueryRow(ctx, selectEntry+` AND j.args @> jsonb_build_object('id', $1::text) ORDER BY j.id DESC LIMIT 1`, id))
	if errors.Is(err, pgx.ErrNoRows) {
		err = catalog.ErrNotFound
	}
	return e, err
}

func scan(row pgx.Row) (e queue.Entry, err error) {
	var name, state string
	var why *string
	var paused, served bool
	err = row.Scan(&e.Job, &e.ID, &name, &e.Priority, &state, &e.Tries, &e.SubmittedAt, &e.NextAt, &e.TakenAt, &e.Worker,
		&e.Canceling, &e.Errors, &e.Require, &e.Attempt, &e.RunState, &paused, &served, &why)
	e.Class = classOf(name)
	e.SubmittedAt = e.SubmittedAt.UTC()
	for _, at := range []*time.Time{e.NextAt, e.TakenAt} {
		if at != nil {
			*at = at.UTC()
		}
	}
	switch state {
	case "running":
		e.State, e.NextAt = queue.Running, nil
		return e, err
	case "cancelled", "completed", "discarded":
		e.State, e.NextAt = queue.Ended, nil
		return e, err
	case "retryable":
		e.State = queue.Retrying
	default:
		e.State = queue.Waiting
	}
	switch {
	case paused:
		e.Why = "the queue is paused"
	case why != nil:
		e.Why = *why
	case !served:
		e.Why = fmt.Sprintf("no worker of class %q is known", e.Class)
	}
	return e, err
}
