package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Amend replaces the end of an ended run.
func (c *Catalog) Amend(ctx context.Context, run catalog.Run) error {
	err := c.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
		was, err := standing(ctx, tx, run.Key)
		if err != nil {
			return err
		}
		move, err := catalog.Amended(was, run)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE analysis_run
			SET state = ?, reason = ?, message = ?, exit_code = ?, report = coalesce(?, report)
			WHERE id = ? AND attempt = ?`,
			string(move.State()), orNull(run.Reason), orNull(run.Message), run.ExitCode, jsonOrNull(run.Report),
			run.ID, run.Attempt)
		return err
	})
	if err != nil {
		return fmt.Errorf("amend run %q: %w", label(run.Key), explain(err))
	}
	return nil
}
