package riverqueue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// selectDepth counts jobs. A job returned for lack of room has a scheduled time, too, but counts as waiting; so does one
// whose time has passed, which River handles every few seconds. A job is unplaced if the last worker to return it can never
// run it and, within fitsFor, none that can returned it.
const selectDepth = `SELECT
	count(*) FILTER (WHERE state IN ('available', 'pending', 'scheduled') AND NOT later AND NOT unplaced),
	count(*) FILTER (WHERE state IN ('available', 'pending', 'scheduled') AND NOT later AND unplaced),
	count(*) FILTER (WHERE state = 'retryable'),
	count(*) FILTER (WHERE state IN ('available', 'pending', 'scheduled') AND later),
	count(*) FILTER (WHERE state = 'running')
	FROM (SELECT state, scheduled_at > now() AND NOT metadata ? 'snoozes' AS later,
		coalesce(metadata -> '` + returned + `' -> 'unfit' = 'true', false)
		AND metadata -> '` + returned + `' ->> 'taken' IS NOT DISTINCT FROM extract(epoch FROM attempted_at)::text
		AND coalesce(metadata -> '` + returned + `' -> 'fits' < to_jsonb(extract(epoch FROM now() - interval '` + fitsFor + `')), true) AS unplaced
		FROM scidex_oci.river_job
		WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled') AND kind = '` + kind + `') j`

// fitsFor is for how long a worker that could run a job, but had no room, is assumed to exist.
const fitsFor = "10 min"

// Depth counts the jobs that have not ended.
func (q *Queue) Depth(ctx context.Context) (d queue.Depth, err error) {
	err = q.catalog.Reading(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, selectDepth).Scan(&d.Waiting, &d.Unplaced, &d.Retrying, &d.Scheduled, &d.Running)
	})
	if err != nil {
		return d, fmt.Errorf("count the queue: %w", err)
	}
	return d, nil
}
