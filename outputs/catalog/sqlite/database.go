package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

// database runs the statements of package relational.
type database struct{ *Catalog }

// Query is part of relational.Database.
func (d database) Query(ctx context.Context, yield func(relational.Row) (bool, error), text string, args ...any) error {
	return reader{d.db}.Query(ctx, yield, text, args...)
}

// Read is part of relational.Database.
func (d database) Read(ctx context.Context, do func(from relational.Reader) error) error {
	return snapshot(ctx, d.db, func(tx *sql.Tx) error { return do(reader{tx}) })
}

// Write is part of relational.Database.
func (d database) Write(ctx context.Context, do func(ctx context.Context, tx relational.Tx) error) error {
	return d.write(ctx, func(ctx context.Context, conn *sql.Conn) error { return do(ctx, transaction{reader{conn}, conn}) })
}

// Explain is part of relational.Database.
func (d database) Explain(err error) error { return explainAt(d.path, err) }

// snapshot runs do on a snapshot as of do's first query.
func snapshot(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // there is nothing to lose
	return do(tx)
}

// inSQLite is the text of a statement without what SQLite lacks: schemas, casts and row locks. Two functions have other names.
func inSQLite(text string) string { return toSQLite.Replace(text) }

var toSQLite = strings.NewReplacer(
	"scidex_oci.", "", "::json", "", "::text", "", "::bytea", "", " FOR UPDATE", "",
	"json_object_agg(", "json_group_object(", "json_agg(", "json_group_array(",
	"$1", "?1", "$2", "?2", "$3", "?3", "$4", "?4", "$5", "?5", "$6", "?6", "$7", "?7", "$8", "?8", "$9", "?9",
)

// reader reads rows of a pool, a connection or a transaction.
type reader struct {
	from interface {
		QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	}
}

// Query is part of relational.Reader.
func (r reader) Query(ctx context.Context, yield func(relational.Row) (bool, error), text string, args ...any) (err error) {
	rows, err := r.from.QueryContext(ctx, inSQLite(text), args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if more, err := yield(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// transaction is the one that a connection is in.
type transaction struct {
	reader
	conn *sql.Conn
}

// Exec is part of relational.Tx.
func (t transaction) Exec(ctx context.Context, text string, args ...any) (changed int64, err error) {
	result, err := t.conn.ExecContext(ctx, inSQLite(text), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Insert is part of relational.Tx.
func (t transaction) Insert(ctx context.Context, table string, columns []string, next func() ([]any, error)) (err error) {
	insert, err := t.conn.PrepareContext(ctx,
		`INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`) VALUES (?`+strings.Repeat(", ?", len(columns)-1)+`)`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	for n := 1; ; n++ {
		values, err := next()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF is a listing that was cut short
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := insert.ExecContext(ctx, values...); err != nil {
			return fmt.Errorf("row %d of %s: %w", n, table, err)
		}
	}
}
