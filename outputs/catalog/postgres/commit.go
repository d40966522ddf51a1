package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

// Commit writes the final state of a run, its events and its outputs in one transaction. It retries an unreachable server
// for a minute, before it reads the first entry; so it does after a COMMIT whose reply was lost, to check whether it was
// committed.
func (c *Catalog) Commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
	err := c.commit(ctx, run, next, beside{})
	if err != nil {
		return fmt.Errorf("commit run %q: %w", label(run.Key), c.explain(err))
	}
	return nil
}

// beside is what else is done in the transaction that ends a run, unless it has ended so before.
type beside struct {
	also   func(ctx context.Context, tx pgx.Tx) error // if not nil, after the end
	queued bool                                       // the run must be queued: else it is catalog.ErrEnded
}

func (c *Catalog) commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error), b beside) error {
	if err := run.ValidateEnd(); err != nil {
		return err
	}
	err := c.writePatiently(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if b.queued {
			was, err := standing(ctx, tx, run.Key)
			if err != nil {
				return err
			}
			if was.State == catalog.Running {
				return catalog.ErrEnded
			}
		}
		ended, err := commitIn(ctx, tx, run, next)
		if err != nil || !ended || b.also == nil {
			return err
		}
		return b.also(ctx, tx)
	})
	var unknown *outcomeUnknown
	if errors.As(err, &unknown) {
		return c.look(ctx, run, unknown)
	}
	return err
}

// commitIn is a commit in a transaction. ended is false if the run has ended so before.
func commitIn(ctx context.Context, tx pgx.Tx, run catalog.Run, next func() (outputs.Entry, error)) (ended bool, err error) {
	was, err := standing(ctx, tx, run.Key)
	if err != nil {
		return false, err
	}
	if was.State.Final() {
		return false, sameEnd(ctx, tx, run)
	}
	move, err := catalog.Ended(was, run)
	if err != nil {
		return false, err
	}
	counted, err := insertEntries(ctx, tx, run.Key, next)
	if err != nil {
		return false, err
	}
	if err := insertBlobs(ctx, tx, run); err != nil {
		return false, err
	}
	if err := insertEvents(ctx, tx, run); err != nil {
		return false, err
	}
	return true, end(ctx, tx, run, move, counted)
}

// look checks whether a commit with a lost reply succeeded. The row lock waits for the server's end of the lost connection,
// which may not have processed the COMMIT yet.
func (c *Catalog) look(ctx context.Context, run catalog.Run, unknown *outcomeUnknown) error {
	var ended bool
	err := retry(ctx, c.timeout, func() error {
		return c.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
			was, err := standing(ctx, tx, run.Key)
			if ended = was.State.Final(); err != nil || !ended {
				return err
			}
			return sameEnd(ctx, tx, run)
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

// end writes the columns known only at a run's end.
func end(ctx context.Context, tx pgx.Tx, run catalog.Run, move catalog.Move, counted row.Totals) error {
	_, err := tx.Exec(ctx, `UPDATE scidex_oci.analysis_run
		SET state = $3, reason = $4, message = $5, exit_code = $6, signal = $7,
			started_at = coalesce($8, started_at), finished_at = $9,
			place = coalesce($10::json, place), report = coalesce($11::json, report),
			action_id = CASE WHEN $11::json IS NULL THEN action_id ELSE $15 END, outputs_total = $12, rejected_total = $13, outputs_removed_at = coalesce($14, outputs_removed_at)
		WHERE id = $1 AND attempt = $2`,
		run.ID, run.Attempt, string(move.State()), orNull(run.Reason), orNull(run.Message), run.ExitCode, orNull(run.Signal),
		moment(run.StartedAt), moment(run.FinishedAt), jsonOrNull(run.Place), jsonOrNull(run.Report),
		counted.Outputs, counted.Rejected, moment(run.OutputsRemovedAt), row.ActionID(run.Report))
	return err
}

var outputColumns = []string{"id", "attempt", "path", "size", "sha256", "media_type", "mode", "verdict", "detail", "partial"}

// insertEntries copies what next returns until io.EOF.
func insertEntries(ctx context.Context, tx pgx.Tx, key catalog.Key, next func() (outputs.Entry, error)) (row.Totals, error) {
	source := &entrySource{ctx: ctx, key: key, next: next}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"scidex_oci", "analysis_output"}, outputColumns, source)
	if source.panicked != nil {
		panic(source.panicked)
	}
	if source.err != nil { // PostgreSQL only knows of the abort
		return source.counted, source.err
	}
	return source.counted, err
}

// entrySource is a pgx.CopyFromSource of what next returns. The driver calls it in a separate goroutine, where nothing
// recovers a panic of next.
type entrySource struct {
	ctx      context.Context
	key      catalog.Key
	next     func() (outputs.Entry, error)
	entry    outputs.Entry
	counted  row.Totals
	err      error
	panicked any
}

// Next reads one more entry.
func (s *entrySource) Next() (more bool) {
	defer func() {
		if what := recover(); what != nil {
			s.panicked, s.err, more = what, errors.New("the listing of entries broke off"), false
		}
	}()
	if s.err = s.ctx.Err(); s.err != nil {
		return false
	}
	s.entry, s.err = s.next()
	if s.err == io.EOF { //nolint:errorlint // a wrapped EOF is a listing that was cut short
		s.err = nil
		return false
	}
	if s.err != nil {
		return false
	}
	s.counted.Add(s.entry)
	return true
}

// Values are the columns of the entry.
func (s *entrySource) Values() ([]any, error) { return row.Entry(s.key, s.entry, text), nil }

// Err is why there is no next entry, if not their end.
func (s *entrySource) Err() error { return s.err }
