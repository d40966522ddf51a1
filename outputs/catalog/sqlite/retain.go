package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Pin pins or unpins a run.
func (c *Catalog) Pin(ctx context.Context, key catalog.Key, pinned bool) error {
	err := c.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
		result, err := tx.ExecContext(ctx, `UPDATE analysis_run SET pinned = ? WHERE id = ? AND attempt = ?`, pinned, key.ID, key.Attempt)
		if err != nil {
			return err
		}
		return oneRow(result, catalog.ErrNotFound)
	})
	if err != nil {
		return fmt.Errorf("pin run %q: %w", label(key), explain(err))
	}
	return nil
}

// DropOutputs drops the contents of an ended run's outputs.
func (c *Catalog) DropOutputs(ctx context.Context, key catalog.Key, at time.Time) error {
	err := c.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
		if err := removable(ctx, tx, key); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE analysis_run SET outputs_removed_at = coalesce(outputs_removed_at, ?)
			WHERE id = ? AND attempt = ?`, timeText(at), key.ID, key.Attempt)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop the outputs of run %q: %w", label(key), explain(err))
	}
	return nil
}

// removable returns why a run, or its outputs, must not be removed.
func removable(ctx context.Context, tx *sql.Conn, key catalog.Key) error {
	var state catalog.State
	var pinned bool
	err := tx.QueryRowContext(ctx, `SELECT state, pinned FROM analysis_run WHERE id = ? AND attempt = ?`, key.ID, key.Attempt).Scan(&state, &pinned)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return catalog.ErrNotFound
	case err != nil:
		return err
	case !state.Final():
		return fmt.Errorf("it is %s: %w", state, catalog.ErrNotEnded)
	case pinned:
		return fmt.Errorf("it is %w", catalog.ErrPinned)
	}
	return nil
}
