package postgres

import (
	"context"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

// database runs the statements of package relational.
type database struct{ *Catalog }

// Query is part of relational.Database.
func (d database) Query(ctx context.Context, yield func(relational.Row) (bool, error), sql string, args ...any) error {
	return d.Read(ctx, func(from relational.Reader) error { return from.Query(ctx, yield, sql, args...) })
}

// Read is part of relational.Database.
func (d database) Read(ctx context.Context, do func(from relational.Reader) error) error {
	return d.read(ctx, func(tx pgx.Tx) error { return do(transaction{tx}) })
}

// Write is part of relational.Database.
func (d database) Write(ctx context.Context, do func(ctx context.Context, tx relational.Tx) error) error {
	return d.write(ctx, func(ctx context.Context, tx pgx.Tx) error { return do(ctx, transaction{tx}) })
}

// Explain is part of relational.Database.
func (d database) Explain(err error) error { return d.explain(err) }

// transaction is one of PostgreSQL as package relational uses it.
type transaction struct{ tx pgx.Tx }

// Query is part of relational.Reader.
func (t transaction) Query(ctx context.Context, yield func(relational.Row) (bool, error), sql string, args ...any) error {
	return query(ctx, t.tx, func(row pgx.Row) (bool, error) { return yield(row) }, sql, args...)
}

// Exec is part of relational.Tx.
func (t transaction) Exec(ctx context.Context, sql string, args ...any) (changed int64, err error) {
	done, err := t.tx.Exec(ctx, sql, args...)
	return done.RowsAffected(), err
}

// Insert is part of relational.Tx.
func (t transaction) Insert(ctx context.Context, table string, columns []string, next func() ([]any, error)) error {
	source := &rows{ctx: ctx, next: next}
	_, err := t.tx.CopyFrom(ctx, pgx.Identifier{"scidex_oci", table}, columns, source)
	if source.panicked != nil {
		panic(source.panicked)
	}
	if source.err != nil { // PostgreSQL only knows of the abort
		return source.err
	}
	return err
}

// rows is a pgx.CopyFromSource of what next returns. The driver calls it in a separate goroutine, in which nothing
// recovers a panic of next.
type rows struct {
	ctx      context.Context
	next     func() ([]any, error)
	values   []any
	err      error
	panicked any
}

// Next reads one more row.
func (r *rows) Next() (more bool) {
	defer func() {
		if what := recover(); what != nil {
			r.panicked, r.err, more = what, errors.New("the listing of rows broke off"), false
		}
	}()
	if r.err = r.ctx.Err(); r.err != nil {
		return false
	}
	r.values, r.err = r.next()
	if r.err == io.EOF { //nolint:errorlint // a wrapped EOF is a listing that was cut short
		r.err = nil
		return false
	}
	return r.err == nil
}

// Values are the columns of the row.
func (r *rows) Values() ([]any, error) { return r.values, nil }

// Err is the error that ended the listing of rows; nil if it ended after the last row.
func (r *rows) Err() error { return r.err }
