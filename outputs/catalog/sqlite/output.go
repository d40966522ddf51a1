package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

const selectEntry = `SELECT path, coalesce(size, 0), coalesce(sha256, ''), coalesce(media_type, ''), coalesce(mode, 0),
	verdict, detail, partial
	FROM analysis_output WHERE id = ? AND attempt = ?`

// selectDigests checks for each output whether its run is one of the few whose contents were dropped. SQLite's own plan
// looks each run up in the table, which is as large as all documents of all runs.
const selectDigests = `SELECT sha256 FROM analysis_output o WHERE sha256 IS NOT NULL AND NOT EXISTS (
		SELECT 1 FROM analysis_run r INDEXED BY analysis_run_outputs_removed WHERE r.id = o.id AND r.attempt = o.attempt AND r.outputs_removed_at IS NOT NULL)
	UNION SELECT sha256 FROM run_blob ORDER BY sha256`

// Outputs streams the entries of a run as of the call, without the write lock.
func (c *Catalog) Outputs(ctx context.Context, key catalog.Key, yield func(outputs.Entry) bool) error {
	err := snapshot(ctx, c.db, func(tx *sql.Tx) error {
		key, err := resolveAttempt(ctx, tx, key)
		if err != nil {
			return err
		}
		return entries(ctx, tx, key, yield)
	})
	if err != nil {
		return fmt.Errorf("outputs of run %q: %w", label(key), explain(err))
	}
	return nil
}

func entries(ctx context.Context, tx *sql.Tx, key catalog.Key, yield func(outputs.Entry) bool) (err error) {
	rows, err := tx.QueryContext(ctx, selectEntry+` ORDER BY path`, key.ID, key.Attempt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		entry, err := scanEntry(rows)
		if err != nil {
			return err
		}
		if !yield(entry) {
			return nil
		}
	}
	return rows.Err()
}

// Output returns one output.
func (c *Catalog) Output(ctx context.Context, key catalog.Key, path []byte) (outputs.Entry, error) {
	var entry outputs.Entry
	err := snapshot(ctx, c.db, func(tx *sql.Tx) error {
		key, err := resolveAttempt(ctx, tx, key)
		if err != nil {
			return err
		}
		entry, err = scanEntry(tx.QueryRowContext(ctx, selectEntry+` AND path = ? AND verdict = 'output'`,
			key.ID, key.Attempt, row.NotNull(path)))
		return notFound(err)
	})
	if err != nil {
		return outputs.Entry{}, fmt.Errorf("output %q of run %q: %w", path, label(key), explain(err))
	}
	return entry, nil
}

// Digests streams the digests that runs name. Both halves are read from their indexes in order.
func (c *Catalog) Digests(ctx context.Context, yield func(sha256 string) bool) error {
	if err := c.digests(ctx, yield); err != nil {
		return fmt.Errorf("digests of the catalog: %w", explain(err))
	}
	return nil
}

func (c *Catalog) digests(ctx context.Context, yield func(string) bool) (err error) {
	rows, err := c.db.QueryContext(ctx, selectDigests)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var digest string
		if err := rows.Scan(&digest); err != nil {
			return err
		}
		if !yield(digest) {
			return nil
		}
	}
	return rows.Err()
}

// snapshot runs do on a snapshot as of do's first query.
func snapshot(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // there is nothing to lose
	return do(tx)
}

// resolveAttempt checks that the run exists and replaces attempt 0 by the last.
func resolveAttempt(ctx context.Context, tx *sql.Tx, key catalog.Key) (catalog.Key, error) {
	err := tx.QueryRowContext(ctx, `SELECT attempt FROM analysis_run WHERE id = ? AND (attempt = ? OR ? = 0)
		ORDER BY attempt DESC LIMIT 1`, key.ID, key.Attempt, key.Attempt).Scan(&key.Attempt)
	return key, notFound(err)
}

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return catalog.ErrNotFound
	}
	return err
}

func scanEntry(from interface{ Scan(...any) error }) (outputs.Entry, error) {
	var entry outputs.Entry
	var verdict string
	err := from.Scan(&entry.Path, &entry.Size, &entry.SHA256, &entry.MediaType, &entry.Mode, &verdict, &entry.Detail, &entry.Partial)
	entry.Rejected = row.Reason(verdict)
	return entry, err
}
