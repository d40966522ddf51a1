package riverqueue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// selectDepth counts jobs. One that a worker has given back for lack of room has a time that it comes again at, too, but it
// waits; so does one whose time is over, which River sees to every few seconds.
const selectDepth = `SELECT
	count(*) FILTER (WHERE state IN ('available', 'pending', 'scheduled') AND NOT later),
	count(*) FILTER (WHERE state = 'retryable'),
	count(*) FILTER (WHERE state IN ('available', 'pending', 'scheduled') AND later),
	count(*) FILTER (WHERE state = 'running')
	FROM (SELECT state, scheduled_at > now() AND NOT metadata ? 'snoozes' AS later FROM scidex_oci.river_job
		WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled') AND kind = '` + kind + `') j`

// Depth counts the jobs that have not ended.
func (q *Queue) Depth(ctx context.Context) (d queue.Depth, err error) {
	err = q.catalog.Reading(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, selectDepth).Scan(&d.Waiting, &d.Retrying, &d.Scheduled, &d.Running)
	})
	if err != nil {
		return d, fmt.Errorf("count the queue: %w", err)
	}
	return d, nil
}
