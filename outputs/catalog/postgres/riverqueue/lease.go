package riverqueue

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue/lease"
)

// The rows of leases. Each statement reads the database's clock once, before it may have to wait for the row, so that a
// lease is never newer than the request of its worker that renewed it.

// clock is one reading of the database's clock.
const clock = `WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now) `

const leaseColumns = `worker, host, length, started, renewed_at, unbroken_since`

func scanLease(row pgx.CollectableRow) (l lease.Lease, err error) {
	err = row.Scan(&l.Worker, &l.Host, &l.Length, &l.Started, &l.Renewed, &l.Unbroken)
	return l, err
}

// takeLease writes the row of a worker that has none.
func takeLease(ctx context.Context, tx pgx.Tx, mine lease.Lease) (lease.Lease, error) {
	rows, err := tx.Query(ctx, clock+`INSERT INTO scidex_oci.worker_lease (`+leaseColumns+`)
		SELECT $1, $2, $3, now, now, now FROM clock
		ON CONFLICT (worker) DO UPDATE SET started = excluded.started, renewed_at = excluded.started, unbroken_since = excluded.started
		RETURNING `+leaseColumns, mine.Worker, mine.Host, mine.Length)
	if err != nil {
		return mine, err
	}
	return pgx.CollectExactlyOneRow(rows, scanLease)
}

// renewLease renews the row of a worker, which remembers it as mine; ok is false if it was removed. The row is unbroken
// only if it is the one that the worker remembers, and not older than a gap may be.
func renewLease(ctx context.Context, tx pgx.Tx, mine lease.Lease) (now lease.Lease, ok bool, err error) {
	rows, err := tx.Query(ctx, clock+`UPDATE scidex_oci.worker_lease SET renewed_at = now, unbroken_since = CASE
			WHEN renewed_at = $2 AND unbroken_since = $3 AND now - renewed_at BETWEEN interval '0' AND $4 THEN unbroken_since ELSE now END
		FROM clock WHERE worker = $1 RETURNING `+leaseColumns, mine.Worker, mine.Renewed, mine.Unbroken, lease.MostGap(mine.Length))
	if err != nil {
		return mine, false, err
	}
	now, err = pgx.CollectExactlyOneRow(rows, scanLease)
	if errors.Is(err, pgx.ErrNoRows) {
		return mine, false, nil
	}
	return now, err == nil, err
}

// otherLeases are those of all workers but one.
func otherLeases(ctx context.Context, tx pgx.Tx, worker string) ([]lease.Lease, error) {
	rows, err := tx.Query(ctx, `SELECT `+leaseColumns+` FROM scidex_oci.worker_lease WHERE worker <> $1`, worker)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanLease)
}

// stillDead reports whether a lease is as the worker of mine has seen it, and mine as that worker remembers it and fresh. Both
// rows are locked then. A row that is locked is being judged or renewed: neither waits for the other.
func stillDead(ctx context.Context, tx pgx.Tx, mine, dead lease.Lease) (bool, error) {
	var n int
	err := tx.QueryRow(ctx, `SELECT
		(SELECT count(*) FROM (SELECT FROM scidex_oci.worker_lease WHERE worker = $1 AND renewed_at = $2 FOR UPDATE SKIP LOCKED) dead) +
		(SELECT count(*) FROM (SELECT FROM scidex_oci.worker_lease WHERE worker = $3 AND renewed_at = $4 AND unbroken_since = $5
			AND clock_timestamp() - renewed_at BETWEEN interval '0' AND $6 FOR KEY SHARE SKIP LOCKED) mine)`,
		dead.Worker, dead.Renewed, mine.Worker, mine.Renewed, mine.Unbroken, lease.MostGap(mine.Length)).Scan(&n)
	return n == 2, err
}

// endLease removes the row of a worker, and reports whether there was one.
func endLease(ctx context.Context, tx pgx.Tx, worker string) (bool, error) {
	done, err := tx.Exec(ctx, `DELETE FROM scidex_oci.worker_lease WHERE worker = $1`, worker)
	return done.RowsAffected() > 0, err
}
