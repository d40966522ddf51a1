package riverqueue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// selectDepth counts jobs. One that a worker has given back for lack of room has a time that it comes again at, too, but it
// waits; so does one whose time is over, which River sees to every few seconds. One that was given back last by a worker that can never
// run it, and within fitsFor by none that can, is not placed.
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

// fitsFor is for how long a worker that could run a job, but had no room, is believed to be there.
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
