package riverqueue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Rescue makes a dead worker's jobs available, as River's rescuer does much later, and ends its lease. The try counts; after
// the last, River discards the job. Canceled jobs are included: the next worker ends the row.
func (q *Queue) Rescue(ctx context.Context, worker string) (n int, err error) {
	err = q.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var known bool
		if n, known, err = rescue(ctx, tx, worker); err == nil && !known {
			err = catalog.ErrNotFound
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("rescue what worker %q had: %w", worker, err)
	}
	return n, nil
}

// rescue reports how many jobs a worker had, and whether it had any or a lease.
func rescue(ctx context.Context, tx pgx.Tx, worker string) (n int, known bool, err error) {
	leased, err := endLease(ctx, tx, worker)
	if err != nil {
		return 0, false, err
	}
	rows, err := tx.Query(ctx, `UPDATE scidex_oci.river_job
		SET state = 'available', scheduled_at = now(), errors = array_append(errors, jsonb_build_object(
			'at', now(), 'attempt', attempt, 'error', 'worker ' || $1::text || ' is dead', 'trace', ''))
		WHERE kind = '`+kind+`' AND state = 'running' AND attempt < max_attempts
			AND attempted_by[array_upper(attempted_by, 1)] = $1::text
		RETURNING queue`, worker)
	if err != nil {
		return 0, false, err
	}
	queues, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, false, err
	}
	return len(queues), leased || len(queues) > 0, notifyWorkers(ctx, tx, queues)
}
