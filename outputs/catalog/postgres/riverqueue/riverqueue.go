// Package riverqueue is a queue.Queue on River (github.com/riverqueue/river) in the database and schema of a PostgreSQL
// catalog. The row of a run is authoritative; River only delivers jobs (docs/adr/0023).
package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

const (
	schema = "scidex_oci"
	// kind is the kind of these jobs in River's tables.
	kind = "scidex_analysis"
	// maxTries bounds River's deliveries of a job. Retries after errors are counted by rows; the rest are workers that die,
	// and an analysis that kills each of them must not be retried forever.
	maxTries = 25
)

// Queue is a queue in the database of a catalog.
type Queue struct {
	catalog *postgres.Catalog
	insert  *river.Client[pgx.Tx] // it runs no job
	log     *slog.Logger
}

var _ queue.Queue = (*Queue)(nil)

// Open opens the queue in the database of a catalog. Missing or older River tables are made or migrated if the role may
// do so; newer ones are refused. Closing the catalog closes it.
func Open(ctx context.Context, c *postgres.Catalog, log *slog.Logger) (*Queue, error) {
	if _, _, err := Migrate(ctx, c); err != nil {
		return nil, err
	}
	// A River client notifies workers of an insertion once in its FetchCooldown, and drops notifications within it.
	insert, err := river.NewClient(riverpgxv5.New(nil), &river.Config{Schema: schema, Logger: log, FetchCooldown: river.FetchCooldownMin})
	if err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	return &Queue{catalog: c, insert: insert, log: log}, nil
}

// Cancel cancels a job.
func (q *Queue) Cancel(ctx context.Context, id string) (was queue.Entry, err error) {
	err = q.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		last, err := postgres.Last(ctx, tx, id)
		if err != nil {
			return err
		}
		if was, err = get(ctx, tx, id); err != nil {
			return err
		}
		switch {
		case was.State == queue.Running && last.State != outcome.Queued:
		case !last.State.Final(): // no worker has started it, or none has reported in time
			if err := postgres.End(ctx, tx, endedByCancel(last)); err != nil {
				return err
			}
		case was.State == queue.Ended:
			return catalog.ErrEnded
		}
		_, err = q.insert.JobCancelTx(ctx, tx, was.Job) // it notifies the worker of a running job at COMMIT
		return err
	})
	if err != nil && !errors.Is(err, catalog.ErrNotFound) && !errors.Is(err, catalog.ErrEnded) {
		err = fmt.Errorf("cancel %q: %w", id, err)
	}
	return was, err
}

// endedByCancel is a queued run, or one of a silent worker, after its cancellation.
func endedByCancel(run catalog.Run) catalog.Run {
	run.Message = "canceled in the queue before anything was run"
	if run.State == outcome.Running {
		run.Message = fmt.Sprintf("canceled in the queue; its worker on host %q did not report", run.Host)
	}
	run.State, run.Reason, run.ExitCode, run.FinishedAt = outcome.Canceled, outcome.ReasonStopped, canceledExit, run.EndsNow()
	return run
}

// canceledExit is the exit code of a stopped run: that of SIGTERM.
const canceledExit = 143
