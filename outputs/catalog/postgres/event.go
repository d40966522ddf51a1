package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

const selectEvents = `SELECT ts, kind, path_or_addr, severity, allowed, blocked, count
	FROM scidex_oci.sandbox_audit_event WHERE analysis_id = $1 AND attempt = $2 ORDER BY ts, seq`

// Events returns what the sandbox saw a run try.
func (c *Catalog) Events(ctx context.Context, key catalog.Key) ([]catalog.Event, error) {
	var found []catalog.Event
	err := c.read(ctx, func(tx pgx.Tx) error {
		key, err := resolveAttempt(ctx, tx, key)
		if err != nil {
			return err
		}
		return query(ctx, tx, func(row pgx.Row) (bool, error) {
			var e catalog.Event
			err := row.Scan(&e.At, &e.Kind, &e.Address, &e.Severity, &e.Allowed, &e.Blocked, &e.Count)
			e.At = e.At.UTC()
			found = append(found, e)
			return true, err
		}, selectEvents, key.ID, key.Attempt)
	})
	if err != nil {
		return nil, fmt.Errorf("events of run %q: %w", label(key), c.explain(err))
	}
	return found, nil
}

var eventColumns = []string{"analysis_id", "attempt", "ts", "seq", "kind", "path_or_addr", "severity", "allowed", "blocked", "count"}

func insertEvents(ctx context.Context, tx pgx.Tx, run catalog.Run) error {
	if len(run.Events) == 0 {
		return nil
	}
	values := func(i int) ([]any, error) {
		e := run.Events[i]
		return []any{
			run.ID, run.Attempt, moment(e.At), i, text(e.Kind), row.BytesOrNull(e.Address), e.Severity, e.Allowed, e.Blocked, e.Count,
		}, nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"scidex_oci", "sandbox_audit_event"}, eventColumns,
		pgx.CopyFromSlice(len(run.Events), values))
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	return nil
}
