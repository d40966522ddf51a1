package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// binary asks for values that no setting of the role or database (DateStyle, bytea_output) spells otherwise.
var binary = pgx.QueryResultFormats{pgx.BinaryFormatCode}

func queryRow(ctx context.Context, q querier, sql string, args ...any) pgx.Row {
	return q.QueryRow(ctx, sql, append([]any{binary}, args...)...)
}

// query calls yield for each row until it returns false. What is left then is not read: the connection ends.
func query(ctx context.Context, q querier, yield func(pgx.Row) (bool, error), sql string, args ...any) error {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	rows, err := q.Query(ctx, sql, append([]any{binary}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := ctx.Err(); err != nil { // rows that came before may be left
			return err
		}
		if more, err := yield(rows); err != nil || !more {
			hangUp()
			return err
		}
	}
	return rows.Err()
}

// snapshot runs do on the database as it is at do's first query.
func (c *Catalog) snapshot(ctx context.Context, do func(pgx.Tx) error) error {
	tx, err := c.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer rollback(ctx, tx) // there is nothing to lose
	return do(tx)
}

func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return catalog.ErrNotFound
	}
	return err
}
