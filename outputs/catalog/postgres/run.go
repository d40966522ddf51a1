package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

// Create writes the intent row.
func (c *Catalog) Create(ctx context.Context, run catalog.Run) error {
	if run.State == "" {
		run.State = catalog.Running
	}
	if err := checkNew(run); err != nil {
		return fmt.Errorf("create run %q: %w", label(run.Key), err)
	}
	insert := func(ctx context.Context, tx pgx.Tx) error { return insertIntent(ctx, tx, run) }
	err := c.write(ctx, insert)
	var unknown *outcomeUnknown
	if errors.As(err, &unknown) {
		err = retry(ctx, c.timeout, func() error { return c.write(ctx, orOurs(run, insert)) })
		if err != nil && !errors.As(err, &unknown) {
			err = &outcomeUnknown{err} // the first may have been committed
		}
	}
	if err != nil {
		return fmt.Errorf("create run %q: %w", label(run.Key), c.explain(err))
	}
	return nil
}

func insertIntent(ctx context.Context, tx pgx.Tx, run catalog.Run) error {
	if err := insertRun(ctx, tx, run); err != nil {
		return err
	}
	if err := insertLabels(ctx, tx, run); err != nil {
		return err
	}
	return insertBlobs(ctx, tx, run)
}

// orOurs is insert after a COMMIT whose reply was lost: an existing row may be that of the lost transaction, and the
// insertion waits for its end. No other run has the same row: its location is a file below one root of one host.
func orOurs(run catalog.Run, insert func(ctx context.Context, tx pgx.Tx) error) func(ctx context.Context, tx pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		err := insert(ctx, tx)
		if !errors.Is(err, catalog.ErrExists) {
			return err
		}
		var ours bool
		failed := tx.QueryRow(ctx, `SELECT state = $3 AND created_at = $4 AND host = $5 AND boot_id = $6
			AND request::text IS NOT DISTINCT FROM $7::text AND place::text IS NOT DISTINCT FROM $8::text
			FROM scidex_oci.analysis_run WHERE id = $1 AND attempt = $2`,
			run.ID, run.Attempt, string(run.State), moment(run.CreatedAt), text(run.Host), text(run.BootID),
			jsonOrNull(run.Request), jsonOrNull(run.Place)).Scan(&ours)
		if failed != nil || ours {
			return failed
		}
		return err
	}
}

// checkNew refuses NUL too, which PostgreSQL's text cannot hold.
func checkNew(run catalog.Run) error {
	if err := run.ValidateIntent(); err != nil {
		return err
	}
	if !isText(run.ID) {
		return errors.New("this cannot be an id")
	}
	for key, value := range run.Labels {
		if !isText(key) || !isText(value) {
			return fmt.Errorf("label %q=%q has a NUL", key, value)
		}
	}
	return nil
}

func insertRun(ctx context.Context, tx pgx.Tx, run catalog.Run) error {
	done, err := tx.Exec(ctx, `INSERT INTO scidex_oci.analysis_run
		(id, attempt, state, reason, message, created_at, started_at, request, place, report, host, boot_id, tool_version, pinned, action_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8::json, $9::json, $10::json, $11, $12, $13, $14, $15)
		ON CONFLICT (id, attempt) DO NOTHING`,
		run.ID, run.Attempt, string(run.State), orNull(run.Reason), orNull(run.Message), moment(run.CreatedAt), moment(run.StartedAt),
		jsonOrNull(run.Request), jsonOrNull(run.Place), jsonOrNull(run.Report), text(run.Host), text(run.BootID), text(run.ToolVersion), run.Pinned,
		row.ActionID(run.Report))
	if err == nil && done.RowsAffected() == 0 {
		return catalog.ErrExists
	}
	return err
}

func insertLabels(ctx context.Context, tx pgx.Tx, run catalog.Run) error {
	if len(run.Labels) == 0 {
		return nil
	}
	var keys, values []string
	for key, value := range run.Labels {
		keys, values = append(keys, key), append(values, value)
	}
	_, err := tx.Exec(ctx, `INSERT INTO scidex_oci.run_label (id, attempt, key, value)
		SELECT $1, $2, l.key, l.value FROM unnest($3::text[], $4::text[]) AS l (key, value)`, run.ID, run.Attempt, keys, values)
	if err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	return nil
}

func insertBlobs(ctx context.Context, tx pgx.Tx, run catalog.Run) error {
	if len(run.Blobs) == 0 {
		return nil
	}
	digests := make([]string, len(run.Blobs))
	for i, digest := range run.Blobs {
		digests[i] = text(digest)
	}
	_, err := tx.Exec(ctx, `INSERT INTO scidex_oci.run_blob (id, attempt, sha256)
		SELECT $1, $2, b.sha256 FROM unnest($3::text[]) AS b (sha256)
		ON CONFLICT (id, attempt, sha256) DO NOTHING`, run.ID, run.Attempt, digests)
	if err != nil {
		return fmt.Errorf("blobs: %w", err)
	}
	return nil
}

// Update changes a run that has not ended.
func (c *Catalog) Update(ctx context.Context, run catalog.Run) error {
	err := c.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		was, err := standing(ctx, tx, run.Key)
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
			run.ID, run.Attempt, string(move.State()), jsonOrNull(run.Place), moment(run.StartedAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("update run %q: %w", label(run.Key), c.explain(err))
	}
	return nil
}

// Amend replaces the end of an ended run.
func (c *Catalog) Amend(ctx context.Context, run catalog.Run) error {
	err := c.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		was, err := standing(ctx, tx, run.Key)
		if err != nil {
			return err
		}
		move, err := catalog.Amended(was, run)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE scidex_oci.analysis_run
			SET state = $3, reason = $4, message = $5, exit_code = $6, report = coalesce($7::json, report),
				action_id = CASE WHEN $7::json IS NULL THEN action_id ELSE $8 END
			WHERE id = $1 AND attempt = $2`,
			run.ID, run.Attempt, string(move.State()), orNull(run.Reason), orNull(run.Message), run.ExitCode, jsonOrNull(run.Report), row.ActionID(run.Report))
		return err
	})
	if err != nil {
		return fmt.Errorf("amend run %q: %w", label(run.Key), c.explain(err))
	}
	return nil
}

// Delete removes an ended run; the rows that refer to it go with it.
func (c *Catalog) Delete(ctx context.Context, key catalog.Key) error {
	err := c.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := removable(ctx, tx, key); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM scidex_oci.analysis_run WHERE id = $1 AND attempt = $2`, key.ID, key.Attempt)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete run %q: %w", label(key), c.explain(err))
	}
	return nil
}

// MayDelete returns why the role cannot delete runs, before anything of them is removed.
func (c *Catalog) MayDelete(ctx context.Context) error {
	var may bool
	err := c.readRow(ctx, `SELECT has_table_privilege('scidex_oci.analysis_run', 'DELETE')`, nil, &may)
	if err != nil {
		return fmt.Errorf("catalog at %s: %w", c.to, c.explain(err))
	}
	if !may {
		return fmt.Errorf("the role %q may not delete runs from the catalog; let one do it who is a member of scidex_admin", c.to.user)
	}
	return nil
}

// standing reads the state and reason of a run, and locks its row until the transaction ends.
func standing(ctx context.Context, tx pgx.Tx, key catalog.Key) (was catalog.Run, err error) {
	err = tx.QueryRow(ctx, `SELECT state, coalesce(reason, '') FROM scidex_oci.analysis_run
		WHERE id = $1 AND attempt = $2 FOR UPDATE`, text(key.ID), key.Attempt).Scan(&was.State, &was.Reason)
	return was, notFound(err)
}

// sameEnd returns nil if a run has ended as run says, else catalog.ErrEnded.
func sameEnd(ctx context.Context, tx pgx.Tx, run catalog.Run) error {
	var same bool
	err := tx.QueryRow(ctx, `SELECT state = $3 AND finished_at IS NOT DISTINCT FROM $4
		FROM scidex_oci.analysis_run WHERE id = $1 AND attempt = $2`,
		run.ID, run.Attempt, string(run.State), moment(run.FinishedAt)).Scan(&same)
	if err == nil && !same {
		return catalog.ErrEnded
	}
	return err
}
