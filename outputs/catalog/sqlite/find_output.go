package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

const selectFound = `SELECT r.id, r.attempt, r.created_at, coalesce(r.outputs_removed_at, ''),
	o.path, o.size, o.sha256, coalesce(o.media_type, ''), coalesce(o.mode, 0), o.partial FROM `

// CROSS JOIN keeps the order of its tables (SQLite, "The Query Optimizer Overview"): runs are read by their index, newest
// first, and only the outputs of one are sorted at a time; those of a digest are few and are found by its index.
const (
	byRun    = `analysis_run r CROSS JOIN analysis_output o ON o.id = r.id AND o.attempt = r.attempt`
	byDigest = `analysis_output o CROSS JOIN analysis_run r ON r.id = o.id AND r.attempt = o.attempt`
)

const newestOutputsFirst = ` ORDER BY r.created_at DESC, r.id DESC, r.attempt DESC, o.path`

// FindOutputs streams the outputs of any run, without the write lock.
func (c *Catalog) FindOutputs(ctx context.Context, query catalog.OutputQuery, yield func(catalog.FoundOutput) bool) error {
	if err := c.findOutputs(ctx, query, yield); err != nil {
		return fmt.Errorf("find outputs: %w", explain(err))
	}
	return nil
}

func (c *Catalog) findOutputs(ctx context.Context, query catalog.OutputQuery, yield func(catalog.FoundOutput) bool) (err error) {
	from, where := byRun, newWhere()
	where.Add(`o.verdict = 'output'`)
	if query.Digest != "" {
		from = byDigest
		where.Add(`o.sha256 >= %s AND o.sha256 < %s`, query.Digest, query.Digest+"g") // after every digit
	}
	if !query.Since.IsZero() {
		where.Add(`r.created_at >= %s`, timeText(query.Since))
	}
	where.States(query.States)
	if err := c.addLabels(ctx, where, query.Labels); err != nil {
		return err
	}
	rows, err := c.db.QueryContext(ctx, selectFound+from+where.String()+newestOutputsFirst, where.Args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		found, err := scanFound(rows)
		if err != nil {
			return err
		}
		if !yield(found) {
			return nil
		}
	}
	return rows.Err()
}

func scanFound(row interface{ Scan(...any) error }) (catalog.FoundOutput, error) {
	var found catalog.FoundOutput
	var entry outputs.Entry
	var created, removed string
	err := row.Scan(&found.ID, &found.Attempt, &created, &removed,
		&entry.Path, &entry.Size, &entry.SHA256, &entry.MediaType, &entry.Mode, &entry.Partial)
	if err != nil {
		return found, err
	}
	found.Entry = entry
	var errs [2]error
	found.CreatedAt, errs[0] = parseTime(created)
	found.OutputsRemovedAt, errs[1] = parseTime(removed)
	return found, errors.Join(errs[:]...)
}
