package sqlite

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

// Create writes the intent row.
func (c *Catalog) Create(ctx context.Context, run catalog.Run) error {
	if err := dialect.ValidateIntent(run); err != nil {
		return fmt.Errorf("create run %q: %w", relational.Label(run.Key), err)
	}
	err := database{c}.Write(ctx, func(ctx context.Context, tx relational.Tx) error { return dialect.Insert(ctx, tx, run) })
	if err != nil {
		return fmt.Errorf("create run %q: %w", relational.Label(run.Key), explainAt(c.path, err))
	}
	return nil
}

// Commit writes the final state of a run, its events and its outputs in one transaction.
func (c *Catalog) Commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
	if err := c.commit(ctx, run, next); err != nil {
		return fmt.Errorf("commit run %q: %w", relational.Label(run.Key), explainAt(c.path, err))
	}
	return nil
}

func (c *Catalog) commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
	if err := run.ValidateEnd(); err != nil {
		return err
	}
	canceled := ctx.Err
	return database{c}.Write(ctx, func(ctx context.Context, tx relational.Tx) error {
		_, err := dialect.End(ctx, tx, run, func() (outputs.Entry, error) {
			if err := canceled(); err != nil {
				return outputs.Entry{}, err
			}
			return next()
		})
		return err
	})
}
