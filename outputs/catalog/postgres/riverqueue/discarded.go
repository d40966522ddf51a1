package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// discardedInterval is the interval between checks for rows whose job is discarded.
const discardedInterval = time.Minute

// endDiscarded ends such rows until ctx ends. River discards a job after maxTries workers, and knows of no row.
func (q *Queue) endDiscarded(ctx context.Context) {
	for again := time.NewTicker(discardedInterval); ; {
		if err := q.endDiscardedRuns(ctx); err != nil && ctx.Err() == nil {
			q.log.Debug("look for jobs that were given up", "error", err)
		}
		select {
		case <-ctx.Done():
			again.Stop()
			return
		case <-again.C:
		}
	}
}

// selectDiscarded finds analyses by River's index of ended jobs; few of them were discarded.
const selectDiscarded = `SELECT DISTINCT j.args ->> 'id' FROM scidex_oci.river_job j
	JOIN scidex_oci.analysis_run r ON r.id = j.args ->> 'id' AND r.state IN ('queued', 'running')
	WHERE j.kind = '` + kind + `' AND j.state = 'discarded' AND j.finalized_at IS NOT NULL`

func (q *Queue) endDiscardedRuns(ctx context.Context) (all error) {
	var ids []string
	err := q.catalog.Reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectDiscarded)
		if err == nil {
			ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := q.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error { return endDiscardedRun(ctx, tx, id) })
		all = errors.Join(all, err)
	}
	return all
}

// endDiscardedRun ends the row of an analysis if it belongs to its last, discarded job and not to a later one.
func endDiscardedRun(ctx context.Context, tx pgx.Tx, id string) error {
	run, err := postgres.Last(ctx, tx, id)
	if err != nil || run.State.Final() {
		return err
	}
	var tries, last int
	err = tx.QueryRow(ctx, `SELECT attempt::int, coalesce(greatest((args ->> 'first')::int, (args ->> 'last')::int), 0)
		FROM (SELECT state, attempt, args FROM scidex_oci.river_job
			WHERE kind = '`+kind+`' AND args @> jsonb_build_object('id', $1::text) ORDER BY id DESC LIMIT 1) j
		WHERE state = 'discarded'`, id).Scan(&tries, &last)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && last > 0 && run.Attempt > last { // of "run --again"
		return nil
	}
	if err != nil {
		return err
	}
	run.Outcome = outcome.Fault(outcome.ReasonSupervisorLost,
		fmt.Sprintf("the queue has given the analysis up after it was brought to workers %d times; \"scidex-oci queue retry\" queues it again", tries))
	run.FinishedAt = run.EndsNow()
	return postgres.End(ctx, tx, run)
}
