package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

// selectEvents reads the events of a run. The rowids of a run grow in the order of insertion: one transaction writes them
// all.
const selectEvents = `SELECT ts, kind, path_or_addr, severity, allowed, blocked, count
	FROM sandbox_audit_event WHERE analysis_id = ? AND attempt = ? ORDER BY ts, rowid`

// Events returns what the sandbox saw a run try.
func (c *Catalog) Events(ctx context.Context, key catalog.Key) ([]catalog.Event, error) {
	var found []catalog.Event
	err := snapshot(ctx, c.db, func(tx *sql.Tx) error {
		key, err := resolveAttempt(ctx, tx, key)
		if err != nil {
			return err
		}
		found, err = events(ctx, tx, key)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("events of run %q: %w", label(key), explain(err))
	}
	return found, nil
}

func events(ctx context.Context, tx *sql.Tx, key catalog.Key) (found []catalog.Event, err error) {
	rows, err := tx.QueryContext(ctx, selectEvents, key.ID, key.Attempt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		event, err := scanEvent(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, event)
	}
	return found, rows.Err()
}

// scanEvent reads a row of selectEvents.
func scanEvent(row interface{ Scan(...any) error }) (catalog.Event, error) {
	var event catalog.Event
	var at string
	err := row.Scan(&at, &event.Kind, &event.Address, &event.Severity, &event.Allowed, &event.Blocked, &event.Count)
	if err != nil {
		return event, err
	}
	event.At, err = parseTime(at)
	return event, err
}

func insertEvents(ctx context.Context, tx *sql.Conn, run catalog.Run) (err error) {
	if len(run.Events) == 0 {
		return nil
	}
	insert, err := tx.PrepareContext(ctx, `INSERT INTO sandbox_audit_event
		(analysis_id, attempt, ts, kind, path_or_addr, severity, allowed, blocked, count)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	for i, event := range run.Events {
		_, err := insert.ExecContext(ctx, run.ID, run.Attempt, timeText(event.At), event.Kind, row.BytesOrNull(event.Address),
			event.Severity, event.Allowed, event.Blocked, event.Count)
		if err != nil {
			return fmt.Errorf("event %d: %w", i+1, err)
		}
	}
	return nil
}
