package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Get returns one run.
func (c *Catalog) Get(ctx context.Context, key catalog.Key) (catalog.Run, error) {
	run, err := c.get(ctx, key)
	if err != nil {
		return catalog.Run{}, fmt.Errorf("get run %q: %w", label(key), explain(err))
	}
	return run, nil
}

// get takes the newest attempt if none is named.
func (c *Catalog) get(ctx context.Context, key catalog.Key) (catalog.Run, error) {
	query := selectRun + ` WHERE id = ?`
	args := []any{key.ID}
	if key.Attempt != 0 {
		query, args = query+` AND attempt = ?`, append(args, key.Attempt)
	}
	return one(c.db.QueryRowContext(ctx, query+` ORDER BY attempt DESC LIMIT 1`, args...))
}

// Find resolves a typed name.
func (c *Catalog) Find(ctx context.Context, text string) (catalog.Run, error) {
	name, err := catalog.ParseName(text)
	if err != nil {
		return catalog.Run{}, err
	}
	run, err := c.find(ctx, name)
	if err != nil {
		return catalog.Run{}, fmt.Errorf("run %q: %w", text, explain(err))
	}
	return run, nil
}

func (c *Catalog) find(ctx context.Context, name catalog.Name) (catalog.Run, error) {
	if name.Last {
		return one(c.db.QueryRowContext(ctx, selectRun+newestFirst+` LIMIT 1`))
	}
	key, err := name.Key(func(prefix string, limit int) ([]string, error) { return c.beginWith(ctx, prefix, limit) })
	if err != nil {
		return catalog.Run{}, err
	}
	return c.get(ctx, key)
}

// beginWith returns up to limit ids that start with prefix, in order. A range of the primary key has no wildcards and no
// case; the upper end is prefix and the last character of Unicode.
func (c *Catalog) beginWith(ctx context.Context, prefix string, limit int) (ids []string, err error) {
	rows, err := c.db.QueryContext(ctx, `SELECT DISTINCT id FROM analysis_run WHERE id >= ? AND id < ? ORDER BY id LIMIT ?`,
		prefix, prefix+"\U0010FFFF", limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// one scans a single run.
func one(row *sql.Row) (catalog.Run, error) {
	run, err := scanRun(row)
	if errors.Is(err, sql.ErrNoRows) {
		return catalog.Run{}, catalog.ErrNotFound
	}
	return run, err
}
