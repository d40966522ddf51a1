package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Create writes the intent row.
func (c *Catalog) Create(ctx context.Context, run catalog.Run) error {
	if run.State == "" {
		run.State = catalog.Running
	}
	if err := run.ValidateIntent(); err != nil {
		return fmt.Errorf("create run %q: %w", label(run.Key), err)
	}
	err := c.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
		if err := insertRun(ctx, tx, run); err != nil {
			return err
		}
		for key, value := range run.Labels {
			_, err := tx.ExecContext(ctx, `INSERT INTO run_label (id, attempt, key, value) VALUES (?, ?, ?, ?)`,
				run.ID, run.Attempt, key, value)
			if err != nil {
				return fmt.Errorf("label %q: %w", key, err)
			}
		}
		return insertBlobs(ctx, tx, run)
	})
	if err != nil {
		return fmt.Errorf("create run %q: %w", label(run.Key), explainAt(c.path, err))
	}
	return nil
}

func insertRun(ctx context.Context, tx *sql.Conn, run catalog.Run) error {
	result, err := tx.ExecContext(ctx, `INSERT INTO analysis_run
		(id, attempt, state, reason, message, created_at, started_at, request, place, report, host, boot_id, tool_version, pinned)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id, attempt) DO NOTHING`,
		run.ID, run.Attempt, string(run.State), orNull(run.Reason), orNull(run.Message),
		timeText(run.CreatedAt), timeText(run.StartedAt),
		jsonOrNull(run.Request), jsonOrNull(run.Place), jsonOrNull(run.Report),
		run.Host, run.BootID, run.ToolVersion, run.Pinned)
	if err != nil {
		return err
	}
	return oneRow(result, catalog.ErrExists)
}

func insertBlobs(ctx context.Context, tx *sql.Conn, run catalog.Run) error {
	for _, digest := range run.Blobs {
		_, err := tx.ExecContext(ctx, `INSERT INTO run_blob (id, attempt, sha256) VALUES (?, ?, ?)
			ON CONFLICT (id, attempt, sha256) DO NOTHING`, run.ID, run.Attempt, digest)
		if err != nil {
			return fmt.Errorf("blob %q: %w", digest, err)
		}
	}
	return nil
}

// Update changes a run that has not ended.
func (c *Catalog) Update(ctx context.Context, run catalog.Run) error {
	err := c.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
		was, err := standing(ctx, tx, run.Key)
		if err != nil {
			return err
		}
		move, err := catalog.Updated(was, run)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE analysis_run
			SET state = ?, place = coalesce(?, place), started_at = coalesce(?, started_at)
			WHERE id = ? AND attempt = ?`,
			string(move.State()), jsonOrNull(run.Place), timeText(run.StartedAt), run.ID, run.Attempt)
		return err
	})
	if err != nil {
		return fmt.Errorf("update run %q: %w", label(run.Key), explain(err))
	}
	return nil
}

// Delete removes an ended run; the rows that refer to it go with it.
func (c *Catalog) Delete(ctx context.Context, key catalog.Key) error {
	err := c.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
		if err := removable(ctx, tx, key); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM analysis_run WHERE id = ? AND attempt = ?`, key.ID, key.Attempt)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete run %q: %w", label(key), explain(err))
	}
	return nil
}

// standing reads the state and reason of a run.
func standing(ctx context.Context, tx *sql.Conn, key catalog.Key) (was catalog.Run, err error) {
	err = tx.QueryRowContext(ctx, `SELECT state, coalesce(reason, '') FROM analysis_run WHERE id = ? AND attempt = ?`,
		key.ID, key.Attempt).Scan(&was.State, &was.Reason)
	return was, notFound(err)
}

// sameEnd returns nil if a run has ended as run says, else catalog.ErrEnded.
func sameEnd(ctx context.Context, tx *sql.Conn, run catalog.Run) error {
	var same bool
	err := tx.QueryRowContext(ctx, `SELECT state = ? AND finished_at IS ? FROM analysis_run WHERE id = ? AND attempt = ?`,
		string(run.State), timeText(run.FinishedAt), run.ID, run.Attempt).Scan(&same)
	if err == nil && !same {
		return catalog.ErrEnded
	}
	return err
}

// oneRow returns none if a statement changed no row.
func oneRow(result sql.Result, none error) error {
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		return none
	}
	return err
}
