package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

const selectFound = `SELECT r.id, r.attempt, r.created_at, r.outputs_removed_at,
	o.path, o.size, o.sha256, coalesce(o.media_type, ''), coalesce(o.mode, 0), o.partial
	FROM scidex_oci.analysis_run r JOIN scidex_oci.analysis_output o ON o.id = r.id AND o.attempt = r.attempt`

// FindOutputs streams the outputs of any run. The server sorts, on disk if there are many.
func (c *Catalog) FindOutputs(ctx context.Context, query catalog.OutputQuery, yield func(catalog.FoundOutput) bool) error {
	where := newWhere()
	where.Add(`o.verdict = 'output'`)
	if query.Digest != "" {
		where.Add(`o.sha256 >= %s`, query.Digest)
		where.Add(`o.sha256 < %s`, query.Digest+"g") // after every digit
	}
	if !query.Since.IsZero() {
		where.Add(`r.created_at >= %s`, moment(query.Since))
	}
	where.States(query.States)
	addLabels(where, query.Labels)
	err := c.readAll(ctx, func(row pgx.Row) (bool, error) {
		found, err := scanFound(row)
		return err == nil && yield(found), err
	}, selectFound+where.String()+` ORDER BY r.created_at DESC, r.id DESC, r.attempt DESC, o.path`, where.Args...)
	if err != nil {
		return fmt.Errorf("find outputs: %w", c.explain(err))
	}
	return nil
}

func scanFound(row pgx.Row) (found catalog.FoundOutput, err error) {
	var created, removed *time.Time
	var mode int32
	err = row.Scan(&found.ID, &found.Attempt, &created, &removed,
		&found.Path, &found.Size, &found.SHA256, &found.MediaType, &mode, &found.Partial)
	found.Mode = uint32(mode)
	found.CreatedAt, found.OutputsRemovedAt = momentOf(created), momentOf(removed)
	return found, err
}
