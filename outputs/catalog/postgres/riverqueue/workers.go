package riverqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

const selectWorkers = `SELECT coalesce(l.worker, j.worker), coalesce(l.host, ''), coalesce(j.jobs, 0)::int,
	CASE WHEN l.worker IS NULL THEN 'none' WHEN clock_timestamp() - l.renewed_at > l.length THEN 'silent' ELSE 'held' END,
	coalesce(extract(epoch FROM l.length) * 1000, 0)::bigint, l.started, l.renewed_at, l.unbroken_since
	FROM scidex_oci.worker_lease l FULL JOIN (SELECT attempted_by[array_upper(attempted_by, 1)] AS worker, count(*) AS jobs
		FROM scidex_oci.river_job WHERE kind = '` + kind + `' AND state = 'running' GROUP BY 1) j ON j.worker = l.worker
	ORDER BY 1`

// Workers returns the workers that have a lease or jobs.
func (q *Queue) Workers(ctx context.Context) (workers []queue.Worker, err error) {
	err = q.catalog.Reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectWorkers)
		if err == nil {
			workers, err = pgx.CollectRows(rows, scanWorker)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the workers of the queue: %w", err)
	}
	return workers, nil
}

func scanWorker(row pgx.CollectableRow) (w queue.Worker, err error) {
	err = row.Scan(&w.Worker, &w.Host, &w.Jobs, &w.Lease, &w.LengthMS, &w.StartedAt, &w.RenewedAt, &w.UnbrokenSince)
	for _, at := range []*time.Time{w.StartedAt, w.RenewedAt, w.UnbrokenSince} {
		if at != nil {
			*at = at.UTC()
		}
	}
	return w, err
}
