package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Get returns one run.
func (c *Catalog) Get(ctx context.Context, key catalog.Key) (catalog.Run, error) {
	run, err := c.get(ctx, key)
	if err != nil {
		return catalog.Run{}, fmt.Errorf("get run %q: %w", label(key), c.explain(err))
	}
	return run, nil
}

// get takes the newest attempt if none is named.
func (c *Catalog) get(ctx context.Context, key catalog.Key) (catalog.Run, error) {
	where := newWhere()
	where.Add(`id = %s`, key.ID)
	if key.Attempt != 0 {
		where.Add(`attempt = %s`, key.Attempt)
	}
	return c.one(ctx, selectRun+where.String()+` ORDER BY attempt DESC LIMIT 1`, where.Args...)
}

// Find resolves a typed name.
func (c *Catalog) Find(ctx context.Context, name string) (catalog.Run, error) {
	parsed, err := catalog.ParseName(name)
	if err != nil {
		return catalog.Run{}, err
	}
	run, err := c.find(ctx, parsed)
	if err != nil {
		return catalog.Run{}, fmt.Errorf("run %q: %w", name, c.explain(err))
	}
	return run, nil
}

func (c *Catalog) find(ctx context.Context, name catalog.Name) (catalog.Run, error) {
	if name.Last {
		return c.one(ctx, selectRun+newestFirst+` LIMIT 1`)
	}
	key, err := name.Key(func(prefix string, limit int) ([]string, error) { return c.beginWith(ctx, prefix, limit) })
	if err != nil {
		return catalog.Run{}, err
	}
	return c.get(ctx, key)
}

// selectIDs is a range of the primary key, without wildcards; the upper end is the prefix and the last character of Unicode.
const selectIDs = `SELECT DISTINCT id FROM scidex_oci.analysis_run WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3`

// beginWith returns up to limit ids that start with prefix, in order.
func (c *Catalog) beginWith(ctx context.Context, prefix string, limit int) (ids []string, err error) {
	if !isText(prefix) {
		return nil, nil
	}
	err = c.readAll(ctx, func(row pgx.Row) (bool, error) {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return true, err
	}, selectIDs, prefix, prefix+"\U0010FFFF", limit)
	return ids, err
}

// one reads a single run.
func (c *Catalog) one(ctx context.Context, sql string, args ...any) (run catalog.Run, err error) {
	err = c.read(ctx, func(tx pgx.Tx) (err error) {
		run, err = scanRun(tx.QueryRow(ctx, sql, args...))
		return err
	})
	return run, err
}
