package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// query calls yield for each row until it returns false. The rest is not read: the connection ends.
func query(ctx context.Context, tx pgx.Tx, yield func(pgx.Row) (bool, error), sql string, args ...any) error {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := ctx.Err(); err != nil { // earlier rows may be left
			return err
		}
		if more, err := yield(rows); err != nil || !more {
			hangUp()
			return err
		}
	}
	return rows.Err()
}

// beginRead makes values readable for the driver, whatever the role or database has set.
const beginRead = `begin isolation level repeatable read read only;
	set local datestyle = 'ISO';
	set local bytea_output = 'hex'`

// read runs do on a snapshot as of do's first query.
func (c *Catalog) read(ctx context.Context, do func(pgx.Tx) error) error {
	tx, err := c.pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginRead})
	if err != nil {
		return err
	}
	defer rollback(ctx, tx) // there is nothing to lose
	return do(tx)
}

// readRow reads one row of one query.
func (c *Catalog) readRow(ctx context.Context, sql string, into ...any) error {
	return c.read(ctx, func(tx pgx.Tx) error { return tx.QueryRow(ctx, sql).Scan(into...) })
}

func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return catalog.ErrNotFound
	}
	return err
}
