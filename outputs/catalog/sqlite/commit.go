package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

// Commit writes the final state of a run, its events and its outputs in one transaction.
func (c *Catalog) Commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
	err := c.commit(ctx, run, next)
	if err != nil {
		return fmt.Errorf("commit run %q: %w", label(run.Key), explainAt(c.path, err))
	}
	return nil
}

func (c *Catalog) commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
	if err := run.ValidateEnd(); err != nil {
		return err
	}
	cancelled := ctx.Err
	return c.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
		was, err := standing(ctx, tx, run.Key)
		if err != nil {
			return err
		}
		if was.State.Final() {
			return sameEnd(ctx, tx, run)
		}
		move, err := catalog.Ended(was, run)
		if err != nil {
			return err
		}
		counted, err := insertEntries(ctx, tx, run.Key, func() (outputs.Entry, error) {
			if err := cancelled(); err != nil {
				return outputs.Entry{}, err
			}
			return next()
		})
		if err != nil {
			return err
		}
		if err := insertBlobs(ctx, tx, run); err != nil {
			return err
		}
		if err := insertEvents(ctx, tx, run); err != nil {
			return err
		}
		return end(ctx, tx, run, move, counted)
	})
}

// end writes the columns known only at a run's end.
func end(ctx context.Context, tx *sql.Conn, run catalog.Run, move catalog.Move, counted row.Totals) error {
	_, err := tx.ExecContext(ctx, `UPDATE analysis_run
		SET state = ?, reason = ?, message = ?, exit_code = ?, signal = ?,
			started_at = coalesce(?, started_at), finished_at = ?,
			place = coalesce(?, place), report = coalesce(?, report),
			outputs_total = ?, rejected_total = ?, outputs_removed_at = coalesce(?, outputs_removed_at)
		WHERE id = ? AND attempt = ?`,
		string(move.State()), orNull(run.Reason), orNull(run.Message), run.ExitCode, orNull(run.Signal),
		timeText(run.StartedAt), timeText(run.FinishedAt),
		jsonOrNull(run.Place), jsonOrNull(run.Report),
		counted.Outputs, counted.Rejected, timeText(run.OutputsRemovedAt),
		run.ID, run.Attempt)
	return err
}

// insertEntries writes what next returns until io.EOF.
func insertEntries(ctx context.Context, tx *sql.Conn, key catalog.Key, next func() (outputs.Entry, error)) (counted row.Totals, err error) {
	insert, err := tx.PrepareContext(ctx, `INSERT INTO analysis_output
		(id, attempt, path, size, sha256, media_type, mode, verdict, detail, partial)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return counted, err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	for {
		entry, err := next()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF is a listing that was cut short
			return counted, nil
		}
		if err != nil {
			return counted, err
		}
		if _, err := insert.ExecContext(ctx, row.Entry(key, entry, text)...); err != nil {
			return counted, fmt.Errorf("output %q: %w", entry.Path, err)
		}
		counted.Add(entry)
	}
}
