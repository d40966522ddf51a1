package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

// Create writes the intent row.
func (c *Catalog) Create(ctx context.Context, run catalog.Run) error {
	if err := dialect.ValidateIntent(run); err != nil {
		return fmt.Errorf("create run %q: %w", relational.Label(run.Key), err)
	}
	insert := func(ctx context.Context, tx pgx.Tx) error { return dialect.Insert(ctx, transaction{tx}, run) }
	err := c.write(ctx, insert)
	var unknown *outcomeUnknown
	if errors.As(err, &unknown) {
		err = retry(ctx, c.timeout, func() error { return c.write(ctx, orOurs(run, insert)) })
		if err != nil && !errors.As(err, &unknown) {
			err = &outcomeUnknown{err} // the first may have been committed
		}
	}
	if err != nil {
		return fmt.Errorf("create run %q: %w", relational.Label(run.Key), c.explain(err))
	}
	return nil
}

// orOurs is insert after a COMMIT whose reply was lost. The insertion waits for the end of that transaction, and an
// existing row may be its row. No other run has an equal one: its location is a file below one root of one host.
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
			relational.DocumentOrNull(run.Request), relational.DocumentOrNull(run.Place)).Scan(&ours)
		if failed != nil || ours {
			return failed
		}
		return err
	}
}

// MayDelete returns why the role cannot delete runs. Call it before anything of them is removed.
func (c *Catalog) MayDelete(ctx context.Context) error {
	var may bool
	err := c.readRow(ctx, `SELECT has_table_privilege('scidex_oci.analysis_run', 'DELETE')`, &may)
	if err != nil {
		return fmt.Errorf("catalog at %s: %w", c.to, c.explain(err))
	}
	if !may {
		return fmt.Errorf("the role %q may not delete runs from the catalog; let one do it who is a member of scidex_admin", c.to.user)
	}
	return nil
}
