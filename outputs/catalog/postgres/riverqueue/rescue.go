package riverqueue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Rescue makes a dead worker's jobs available, as River's rescuer does much later, and ends its lease. The try counts; after
// the last, River discards the job. Canceled jobs are included: the next worker ends the row.
func (q *Queue) Rescue(ctx context.Context, worker string) (n int, err error) {
	err = q.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		n, err = rescue(ctx, tx, worker)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("rescue what worker %q had: %w", worker, err)
	}
	return n, nil
}

func rescue(ctx context.Context, tx pgx.Tx, worker string) (n int, err error) {
	if err := endLease(ctx, tx, worker); err != nil {
		return 0, err
	}
	rows, err := tx.Query(ctx, `UPDATE scidex_oci.river_job
		SET state = 'available', scheduled_at = now(), errors = array_append(errors, jsonb_build_object(
			'at', now(), 'attempt', attempt, 'error', 'worker ' || $1::text || ' is dead', 'trace', ''))
		WHERE kind = '`+kind+`' AND state = 'running' AND attempt < max_attempts
			AND attempted_by[array_upper(attempted_by, 1)] = $1::text
		RETURNING queue`, worker)
	if err != nil {
		return 0, err
	}
	queues, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, err
	}
	return len(queues), waken(ctx, tx, queues)
}
