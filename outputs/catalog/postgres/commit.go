package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// Commit writes the final state of a run, its events and its outputs in one transaction. It retries an unreachable server
// for a minute, before it reads the first entry; so it does after a COMMIT whose reply was lost, to check whether it was
// committed.
func (c *Catalog) Commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
	return c.commitWith(ctx, run, next, commitOptions{})
}

// commitOptions is what else the transaction that ends a run does, unless the run has ended in the same way before.
type commitOptions struct {
	also   func(ctx context.Context, tx pgx.Tx) error // if not nil, after the end
	queued bool                                       // the run must be queued: else it is catalog.ErrEnded
}

func (c *Catalog) commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error), o commitOptions) error {
	if err := run.ValidateEnd(); err != nil {
		return err
	}
	err := c.writePatiently(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if o.queued {
			was, err := dialect.ReadState(ctx, transaction{tx}, run.Key)
			if err != nil {
				return err
			}
			if was.State == outcome.Running {
				return catalog.ErrEnded
			}
		}
		ended, err := dialect.End(ctx, transaction{tx}, run, next)
		if err != nil || !ended || o.also == nil {
			return err
		}
		return o.also(ctx, tx)
	})
	var unknown *outcomeUnknown
	if errors.As(err, &unknown) {
		return c.look(ctx, run, unknown)
	}
	return err
}

// look checks whether a commit with a lost reply succeeded. The row lock waits for the server's end of the lost connection,
// which may not have processed the COMMIT yet.
func (c *Catalog) look(ctx context.Context, run catalog.Run, unknown *outcomeUnknown) error {
	var ended bool
	err := retry(ctx, c.timeout, func() error {
		return c.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
			was, err := dialect.ReadState(ctx, transaction{tx}, run.Key)
			if ended = was.State.Final(); err != nil || !ended {
				return err
			}
			return dialect.SameEnd(ctx, transaction{tx}, run)
		})
	})
	switch {
	case errors.Is(err, catalog.ErrEnded), errors.Is(err, catalog.ErrNotFound):
		return err
	case err != nil:
		return fmt.Errorf("%w; whether it was committed could not be seen: %w", unknown, c.explain(err))
	case !ended:
		return fmt.Errorf("%w; nothing of it was committed", unknown)
	}
	return nil
}
