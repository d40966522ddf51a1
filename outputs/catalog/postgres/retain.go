package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Pin pins or unpins a run.
func (c *Catalog) Pin(ctx context.Context, key catalog.Key, pinned bool) error {
	err := c.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		done, err := tx.Exec(ctx, `UPDATE scidex_oci.analysis_run SET pinned = $3 WHERE id = $1 AND attempt = $2`,
			text(key.ID), key.Attempt, pinned)
		if err == nil && done.RowsAffected() == 0 {
			return catalog.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("pin run %q: %w", label(key), c.explain(err))
	}
	return nil
}

// DropOutputs drops the contents of an ended run's outputs.
func (c *Catalog) DropOutputs(ctx context.Context, key catalog.Key, at time.Time) error {
	err := c.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := removable(ctx, tx, key); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE scidex_oci.analysis_run SET outputs_removed_at = coalesce(outputs_removed_at, $3)
			WHERE id = $1 AND attempt = $2`, key.ID, key.Attempt, moment(at))
		return err
	})
	if err != nil {
		return fmt.Errorf("drop the outputs of run %q: %w", label(key), c.explain(err))
	}
	return nil
}

// removable returns why a run, or its outputs, must not be removed. The row is locked against Pin until the end.
func removable(ctx context.Context, tx pgx.Tx, key catalog.Key) error {
	var state catalog.State
	var pinned bool
	err := tx.QueryRow(ctx, `SELECT state, pinned FROM scidex_oci.analysis_run WHERE id = $1 AND attempt = $2 FOR UPDATE`,
		text(key.ID), key.Attempt).Scan(&state, &pinned)
	switch {
	case err != nil:
		return notFound(err)
	case !state.Final():
		return fmt.Errorf("it is %s: %w", state, catalog.ErrNotEnded)
	case pinned:
		return fmt.Errorf("it is %w", catalog.ErrPinned)
	}
	return nil
}
