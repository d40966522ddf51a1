package relational

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// ValidateIntent returns why no row can be written for a run, or nil.
func (d Dialect) ValidateIntent(run catalog.Run) error {
	if err := run.ValidateIntent(); err != nil {
		return err
	}
	if !d.Holds(run.ID) {
		return errors.New("this cannot be an id")
	}
	for key, value := range run.Labels {
		if !d.Holds(key) || !d.Holds(value) {
			return fmt.Errorf("label %q=%q has a NUL", key, value)
		}
	}
	return nil
}

// Insert writes the intent row of a valid run, its labels and its blobs.
func (d Dialect) Insert(ctx context.Context, tx Tx, run catalog.Run) error {
	columns := `id, attempt, state, reason, message, created_at, started_at, request, place, report, host, boot_id, tool_version, pinned`
	values := `$1, $2, $3, $4, $5, $6, $7, $8::json, $9::json, $10::json, $11, $12, $13, $14`
	args := []any{
		run.ID, run.Attempt, string(run.State), d.orNull(string(run.Reason)), d.orNull(run.Message), d.Moment(run.CreatedAt), d.Moment(run.StartedAt),
		DocumentOrNull(run.Request), DocumentOrNull(run.Place), DocumentOrNull(run.Report), d.Text(run.Host), d.Text(run.BootID), d.Text(run.ToolVersion), run.Pinned,
	}
	if d.HasAction {
		columns, values, args = columns+`, action_id`, values+`, $15`, append(args, actionID(run.Report))
	}
	changed, err := tx.Exec(ctx, `INSERT INTO scidex_oci.analysis_run (`+columns+`) VALUES (`+values+`) ON CONFLICT (id, attempt) DO NOTHING`, args...)
	if err != nil {
		return err
	}
	if changed == 0 {
		return catalog.ErrExists
	}
	if err := insertLabels(ctx, tx, run); err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	return d.insertBlobs(ctx, tx, run)
}

func insertLabels(ctx context.Context, tx Tx, run catalog.Run) error {
	if len(run.Labels) == 0 {
		return nil
	}
	var rows [][]any
	for key, value := range run.Labels {
		rows = append(rows, []any{run.ID, run.Attempt, key, value})
	}
	return tx.Insert(ctx, "run_label", []string{"id", "attempt", "key", "value"}, each(rows))
}

// each returns one of rows at a time, then io.EOF.
func each(rows [][]any) func() ([]any, error) {
	return func() (row []any, err error) {
		if len(rows) == 0 {
			return nil, io.EOF
		}
		row, rows = rows[0], rows[1:]
		return row, nil
	}
}

func (d Dialect) insertBlobs(ctx context.Context, tx Tx, run catalog.Run) error {
	for _, digest := range run.Blobs {
		_, err := tx.Exec(ctx, `INSERT INTO scidex_oci.run_blob (id, attempt, sha256) VALUES ($1, $2, $3)
			ON CONFLICT (id, attempt, sha256) DO NOTHING`, run.ID, run.Attempt, d.Text(digest))
		if err != nil {
			return fmt.Errorf("blob %q: %w", digest, err)
		}
	}
	return nil
}

// Update changes a run that has not ended.
func (c Catalog) Update(ctx context.Context, run catalog.Run) error {
	return c.change(ctx, "update", run.Key, func(ctx context.Context, tx Tx) error {
		was, err := c.d.ReadState(ctx, tx, run.Key)
		if err != nil {
			return err
		}
		move, err := catalog.Updated(was, run)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE scidex_oci.analysis_run
			SET state = $3, place = coalesce($4::json, place), started_at = coalesce($5, started_at)
			WHERE id = $1 AND attempt = $2`,
			run.ID, run.Attempt, string(move.State()), DocumentOrNull(run.Place), c.d.Moment(run.StartedAt))
		return err
	})
}

// Amend replaces the end of an ended run.
func (c Catalog) Amend(ctx context.Context, run catalog.Run) error {
	return c.change(ctx, "amend", run.Key, func(ctx context.Context, tx Tx) error {
		was, err := c.d.ReadState(ctx, tx, run.Key)
		if err != nil {
			return err
		}
		move, err := catalog.Amended(was, run)
		if err != nil {
			return err
		}
		set := `state = $3, reason = $4, message = $5, exit_code = $6, report = coalesce($7::json, report)`
		args := []any{
			run.ID, run.Attempt, string(move.State()), c.d.orNull(string(run.Reason)), c.d.orNull(run.Message), run.ExitCode, DocumentOrNull(run.Report),
		}
		if c.d.HasAction {
			set, args = set+`, action_id = CASE WHEN $7::json IS NULL THEN action_id ELSE $8 END`, append(args, actionID(run.Report))
		}
		_, err = tx.Exec(ctx, `UPDATE scidex_oci.analysis_run SET `+set+` WHERE id = $1 AND attempt = $2`, args...)
		return err
	})
}

// Pin pins or unpins a run.
func (c Catalog) Pin(ctx context.Context, key catalog.Key, pinned bool) error {
	return c.change(ctx, "pin", key, func(ctx context.Context, tx Tx) error {
		changed, err := tx.Exec(ctx, `UPDATE scidex_oci.analysis_run SET pinned = $3 WHERE id = $1 AND attempt = $2`, c.d.Text(key.ID), key.Attempt, pinned)
		if err == nil && changed == 0 {
			return catalog.ErrNotFound
		}
		return err
	})
}

// DropOutputs drops the contents of an ended run's outputs.
func (c Catalog) DropOutputs(ctx context.Context, key catalog.Key, at time.Time) error {
	return c.change(ctx, "drop the outputs of", key, func(ctx context.Context, tx Tx) error {
		if err := c.d.removable(ctx, tx, key); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE scidex_oci.analysis_run SET outputs_removed_at = coalesce(outputs_removed_at, $3)
			WHERE id = $1 AND attempt = $2`, key.ID, key.Attempt, c.d.Moment(at))
		return err
	})
}

// Delete removes an ended run; the rows that refer to it go with it.
func (c Catalog) Delete(ctx context.Context, key catalog.Key) error {
	return c.change(ctx, "delete", key, func(ctx context.Context, tx Tx) error {
		if err := c.d.removable(ctx, tx, key); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM scidex_oci.analysis_run WHERE id = $1 AND attempt = $2`, key.ID, key.Attempt)
		return err
	})
}

// change is a write to one run. verb is for its error.
func (c Catalog) change(ctx context.Context, verb string, key catalog.Key, do func(ctx context.Context, tx Tx) error) error {
	if err := c.db.Write(ctx, do); err != nil {
		return fmt.Errorf("%s run %q: %w", verb, Label(key), c.db.Explain(err))
	}
	return nil
}

// ReadState reads the state and reason of a run, and locks its row until the transaction ends.
func (d Dialect) ReadState(ctx context.Context, tx Tx, key catalog.Key) (was catalog.Run, err error) {
	err = one(ctx, tx, func(row Row) error { return row.Scan(&was.State, &was.Reason) },
		`SELECT state, coalesce(reason, '') FROM scidex_oci.analysis_run WHERE id = $1 AND attempt = $2 FOR UPDATE`, d.Text(key.ID), key.Attempt)
	return was, err
}

// removable returns why a run, or its outputs, must not be removed. The row is locked against Pin until the end.
func (d Dialect) removable(ctx context.Context, tx Tx, key catalog.Key) error {
	var state outcome.State
	var pinned bool
	err := one(ctx, tx, func(row Row) error { return row.Scan(&state, &pinned) },
		`SELECT state, pinned FROM scidex_oci.analysis_run WHERE id = $1 AND attempt = $2 FOR UPDATE`, d.Text(key.ID), key.Attempt)
	switch {
	case err != nil:
		return err
	case !state.Final():
		return fmt.Errorf("it is %s: %w", state, catalog.ErrNotEnded)
	case pinned:
		return fmt.Errorf("it is %w", catalog.ErrPinned)
	}
	return nil
}

// SameEnd returns nil if the catalog has the state and the end time of run, else catalog.ErrEnded.
func (d Dialect) SameEnd(ctx context.Context, tx Tx, run catalog.Run) error {
	var same bool
	err := one(ctx, tx, func(row Row) error { return row.Scan(&same) },
		`SELECT state = $3 AND finished_at IS NOT DISTINCT FROM $4 FROM scidex_oci.analysis_run WHERE id = $1 AND attempt = $2`,
		run.ID, run.Attempt, string(run.State), d.Moment(run.FinishedAt))
	if err == nil && !same {
		return catalog.ErrEnded
	}
	return err
}

// End writes the end of a run, its entries, blobs and events. ended is false if the run has ended so before.
func (d Dialect) End(ctx context.Context, tx Tx, run catalog.Run, next func() (outputs.Entry, error)) (ended bool, err error) {
	was, err := d.ReadState(ctx, tx, run.Key)
	if err != nil {
		return false, err
	}
	if was.State.Final() {
		return false, d.SameEnd(ctx, tx, run)
	}
	move, err := catalog.Ended(was, run)
	if err != nil {
		return false, err
	}
	counted, err := d.insertEntries(ctx, tx, run.Key, next)
	if err != nil {
		return false, err
	}
	if err := d.insertBlobs(ctx, tx, run); err != nil {
		return false, err
	}
	if err := d.insertEvents(ctx, tx, run); err != nil {
		return false, fmt.Errorf("events: %w", err)
	}
	return true, d.end(ctx, tx, run, move, counted)
}

// end writes the columns known only at a run's end.
func (d Dialect) end(ctx context.Context, tx Tx, run catalog.Run, move catalog.Move, counted totals) error {
	set := `state = $3, reason = $4, message = $5, exit_code = $6, signal = $7, started_at = coalesce($8, started_at), finished_at = $9,
		place = coalesce($10::json, place), report = coalesce($11::json, report),
		outputs_total = $12, rejected_total = $13, outputs_removed_at = coalesce($14, outputs_removed_at)`
	args := []any{
		run.ID, run.Attempt, string(move.State()), d.orNull(string(run.Reason)), d.orNull(run.Message), run.ExitCode, d.orNull(string(run.Signal)),
		d.Moment(run.StartedAt), d.Moment(run.FinishedAt), DocumentOrNull(run.Place), DocumentOrNull(run.Report),
		counted.Outputs, counted.Rejected, d.Moment(run.OutputsRemovedAt),
	}
	if d.HasAction {
		set, args = set+`, action_id = CASE WHEN $11::json IS NULL THEN action_id ELSE $15 END`, append(args, actionID(run.Report))
	}
	_, err := tx.Exec(ctx, `UPDATE scidex_oci.analysis_run SET `+set+` WHERE id = $1 AND attempt = $2`, args...)
	return err
}

var entryColumns = []string{"id", "attempt", "path", "size", "sha256", "media_type", "mode", "verdict", "detail", "partial"}

// insertEntries writes what next returns until io.EOF.
func (d Dialect) insertEntries(ctx context.Context, tx Tx, key catalog.Key, next func() (outputs.Entry, error)) (counted totals, err error) {
	err = tx.Insert(ctx, "analysis_output", entryColumns, func() ([]any, error) {
		entry, err := next()
		if err != nil {
			return nil, err
		}
		counted.add(entry)
		return valuesOf(key, entry, d.Text), nil
	})
	return counted, err
}

func (d Dialect) insertEvents(ctx context.Context, tx Tx, run catalog.Run) error {
	if len(run.Events) == 0 {
		return nil
	}
	columns := []string{"analysis_id", "attempt", "ts", "kind", "path_or_addr", "severity", "allowed", "blocked", "count"}
	numbered := d.EventOrder != rowID
	if numbered {
		columns = append(columns, d.EventOrder)
	}
	rows := make([][]any, len(run.Events))
	for i, e := range run.Events {
		rows[i] = []any{run.ID, run.Attempt, d.Moment(e.At), d.Text(e.Kind), bytesOrNull(e.Address), e.Severity, e.Allowed, e.Blocked, e.Count}
		if numbered {
			rows[i] = append(rows[i], i)
		}
	}
	return tx.Insert(ctx, "sandbox_audit_event", columns, each(rows))
}

// rowID is SQLite's own column, which grows in the order of insertion.
const rowID = "rowid"

func (d Dialect) orNull(s string) any { return textOrNull(s, d.Text) }

// DocumentOrNull returns NULL for no document, and leaves the validation of one to the database. Invalid UTF-8 is replaced, as Go's reader does.
func DocumentOrNull(document json.RawMessage) any {
	if len(document) == 0 {
		return nil
	}
	return strings.ToValidUTF8(string(document), "\uFFFD")
}
