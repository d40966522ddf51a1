package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

const selectEntry = `SELECT path, coalesce(size, 0), coalesce(sha256, ''), coalesce(media_type, ''), coalesce(mode, 0),
	verdict, detail, partial
	FROM scidex_oci.analysis_output WHERE id = $1 AND attempt = $2`

const selectDigests = `SELECT sha256 FROM scidex_oci.analysis_output WHERE sha256 IS NOT NULL
		AND (id, attempt) NOT IN (SELECT id, attempt FROM scidex_oci.analysis_run WHERE outputs_removed_at IS NOT NULL)
	UNION SELECT sha256 FROM scidex_oci.run_blob ORDER BY sha256`

// What the path index has of a path.
const (
	byPath   = ` ORDER BY substring(path FOR 2000), path`
	withPath = ` AND substring(path FOR 2000) = substring($3::bytea FOR 2000) AND path = $3`
)

// Outputs streams the entries of a run as of the call.
func (c *Catalog) Outputs(ctx context.Context, key catalog.Key, yield func(outputs.Entry) bool) error {
	err := c.read(ctx, func(tx pgx.Tx) error {
		key, err := resolveAttempt(ctx, tx, key)
		if err != nil {
			return err
		}
		return query(ctx, tx, func(row pgx.Row) (bool, error) {
			entry, err := scanEntry(row)
			return err == nil && yield(entry), err
		}, selectEntry+byPath, key.ID, key.Attempt)
	})
	if err != nil {
		return fmt.Errorf("outputs of run %q: %w", label(key), c.explain(err))
	}
	return nil
}

// Output returns one output.
func (c *Catalog) Output(ctx context.Context, key catalog.Key, path []byte) (outputs.Entry, error) {
	var entry outputs.Entry
	err := c.read(ctx, func(tx pgx.Tx) error {
		key, err := resolveAttempt(ctx, tx, key)
		if err != nil {
			return err
		}
		entry, err = scanEntry(tx.QueryRow(ctx, selectEntry+withPath+` AND verdict = 'output'`, key.ID, key.Attempt, row.NotNull(path)))
		return notFound(err)
	})
	if err != nil {
		return outputs.Entry{}, fmt.Errorf("output %q of run %q: %w", path, label(key), c.explain(err))
	}
	return entry, nil
}

// Digests streams the digests that runs name. Both halves are read from their indexes in order.
func (c *Catalog) Digests(ctx context.Context, yield func(sha256 string) bool) error {
	err := c.readAll(ctx, func(row pgx.Row) (bool, error) {
		var digest string
		err := row.Scan(&digest)
		return err == nil && yield(digest), err
	}, selectDigests)
	if err != nil {
		return fmt.Errorf("digests of the catalog: %w", c.explain(err))
	}
	return nil
}

// resolveAttempt checks that the run exists and replaces attempt 0 by the last.
func resolveAttempt(ctx context.Context, tx pgx.Tx, key catalog.Key) (catalog.Key, error) {
	if !isText(key.ID) {
		return key, catalog.ErrNotFound
	}
	err := tx.QueryRow(ctx, `SELECT attempt FROM scidex_oci.analysis_run WHERE id = $1 AND (attempt = $2 OR $2 = 0)
		ORDER BY attempt DESC LIMIT 1`, key.ID, key.Attempt).Scan(&key.Attempt)
	return key, notFound(err)
}

func scanEntry(from pgx.Row) (outputs.Entry, error) {
	var entry outputs.Entry
	var verdict string
	var mode int32
	err := from.Scan(&entry.Path, &entry.Size, &entry.SHA256, &entry.MediaType, &mode, &verdict, &entry.Detail, &entry.Partial)
	entry.Mode = uint32(mode)
	entry.Rejected = row.Reason(verdict)
	return entry, err
}
