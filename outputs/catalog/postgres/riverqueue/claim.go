package riverqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// claim is a job assigned to a worker. Its methods need River's contexts, which identify River's client.
type claim struct {
	queue *Queue
	job   *river.Job[args]
	// started says that the running row is, or may be, this worker's. No worker ends another's row.
	started bool
}

var _ queue.Claim = (*claim)(nil)

func (c *claim) Job() queue.Job {
	job := c.job.Args.job()
	job.Class = classOf(c.job.Queue)
	job.LastTry = c.job.Attempt >= c.job.MaxAttempts
	var counted struct{ Snoozes int } // by River
	if json.Unmarshal(c.job.Metadata, &counted) == nil {
		job.Returned = counted.Snoozes
	}
	return job
}

// PrepareRow finds or makes the row to fill in.
func (c *claim) PrepareRow(ctx context.Context) (run catalog.Run, failures int, err error) {
	done := false
	err = c.queue.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var err error
		if run, err = postgres.Last(ctx, tx, c.job.Args.ID); err != nil {
			return err
		}
		status, err := c.status(ctx, tx)
		if err != nil {
			return err
		}
		if status.last > 0 && run.Attempt > status.last { // of "run --again", or of another job
			done = true
			return c.finish(ctx, tx)
		}
		if status.canceled && !run.State.Final() { // its worker died before handling that
			if err := postgres.End(ctx, tx, endedByCancel(run)); err != nil {
				return err
			}
		}
		if status.canceled || run.State == outcome.Complete || run.State == outcome.Failed || run.State == outcome.Canceled && !returnedByWorker(run) {
			done = true
			return c.finish(ctx, tx)
		}
		if run.State == outcome.Error && c.job.Args.First > 0 { // it may have been committed without the job, whose own count lacks it
			if failures, err = c.failures(ctx, tx); err != nil {
				return err
			}
			if done = failures > c.job.Args.job().Retries; done {
				return c.finish(ctx, tx)
			}
		}
		if status.paused { // River has not notified this worker yet, or never will
			return &queue.Later{After: pausedFor, Why: "the queue is paused"}
		}
		switch run.State {
		case outcome.Running:
			run.Outcome = outcome.Fault(outcome.ReasonSupervisorLost,
				fmt.Sprintf("its worker on host %q did not report in time; the queue has given the analysis to another", run.Host))
			run.FinishedAt = run.EndsNow()
			if err := postgres.End(ctx, tx, run); err != nil {
				return err
			}
			run, err = c.requeue(ctx, tx, run)
		case outcome.Queued:
			run.Request = c.job.Args.Request // the worker has room for its limits
		default:
			run, err = c.requeue(ctx, tx, run)
		}
		if err == nil {
			err = c.keepFirst(ctx, tx, run)
		}
		if err != nil {
			return err
		}
		failures, err = c.failures(ctx, tx)
		return err
	})
	if err == nil && done {
		err = queue.ErrDone
	}
	if err != nil {
		return run, failures, fmt.Errorf("look at %q: %w", c.job.Args.ID, err)
	}
	return run, failures, nil
}

// failures counts the job's attempts that ended in an error.
func (c *claim) failures(ctx context.Context, tx pgx.Tx) (n int, err error) {
	err = tx.QueryRow(ctx, `SELECT count(*)::int FROM scidex_oci.analysis_run
		WHERE id = $1 AND attempt >= $2 AND state = 'error'`, c.job.Args.ID, c.job.Args.First).Scan(&n)
	return n, err
}

// keepFirst records which attempt was queued with the job, if the job lacks that: the one its first worker finds queued.
func (c *claim) keepFirst(ctx context.Context, tx pgx.Tx, queued catalog.Run) error {
	if c.job.Args.First > 0 {
		return nil
	}
	c.job.Args.First = queued.Attempt
	_, err := tx.Exec(ctx, `UPDATE scidex_oci.river_job SET args = args || jsonb_build_object('first', $2::int) WHERE id = $1`, c.job.ID, queued.Attempt)
	return err
}

// returnedByWorker reports whether the worker of a canceled run should have returned its job but could not record that with the end
// of the run: the network failed or it was killed.
func returnedByWorker(run catalog.Run) bool {
	return strings.Contains(run.Message, queue.ByDrain) || strings.Contains(run.Message, queue.ByOverdue)
}

// Begin writes the intent of a run into its row. If the reply to COMMIT is lost it is an error, and the row ends as one.
func (c *claim) Begin(ctx context.Context, run catalog.Run) error {
	err := c.queue.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error { return postgres.Begin(ctx, tx, run) })
	c.started = err == nil || postgres.Unknown(err)
	return err
}

// Commit ends a run and finishes or requeues the job.
func (c *claim) Commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error), then queue.Then) error {
	commit := c.queue.catalog.CommitQueued
	if c.started {
		commit = c.queue.catalog.CommitWith
	}
	return commit(ctx, run, next, func(ctx context.Context, tx pgx.Tx) error {
		status, err := c.status(ctx, tx)
		if err != nil {
			return err
		}
		if then == queue.Finish || status.canceled {
			return c.finish(ctx, tx)
		}
		_, err = c.requeue(ctx, tx, run)
		return err
	})
}

// finish completes the job. A job that was rescued as stuck and waits for another worker stays as it is: that worker
// finds that the run has ended.
func (c *claim) finish(ctx context.Context, tx pgx.Tx) error {
	_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, c.job)
	return err
}

// pausedFor is how long a job taken during a pause is snoozed.
const pausedFor = 3 * time.Second

// jobStatus is what other processes wrote about a job: whether it was canceled, after which River does not run it
// again, whether its queue is paused, and the attempt queued last for it, 0 if not recorded.
type jobStatus struct {
	canceled, paused bool
	last             int
}

// status reads it. Cancel locks the run's row: either status sees the cancellation, or Cancel ends the row that is queued here.
func (c *claim) status(ctx context.Context, tx pgx.Tx) (t jobStatus, err error) {
	err = tx.QueryRow(ctx, `SELECT coalesce(bool_or(j.metadata ? 'cancel_attempted_at'), false), coalesce(bool_or(q.paused_at IS NOT NULL), false),
			coalesce(max(greatest((j.args ->> 'first')::int, (j.args ->> 'last')::int)), 0)
		FROM scidex_oci.river_job j LEFT JOIN scidex_oci.river_queue q ON q.name = j.queue WHERE j.id = $1`, c.job.ID).Scan(&t.canceled, &t.paused, &t.last)
	return t, err
}

// requeue writes the row of the next attempt after an ended run and records it in the job.
func (c *claim) requeue(ctx context.Context, tx pgx.Tx, run catalog.Run) (catalog.Run, error) {
	next := attemptAfter(run, c.job.Args.Request)
	if err := postgres.Insert(ctx, tx, next); err != nil {
		return next, err
	}
	_, err := tx.Exec(ctx, `UPDATE scidex_oci.river_job SET args = args || jsonb_build_object('last', $2::int) WHERE id = $1`, c.job.ID, next.Attempt)
	return next, err
}

// attemptAfter is the queued row of the attempt after a run.
func attemptAfter(run catalog.Run, request json.RawMessage) catalog.Run {
	return catalog.Run{
		Key:     catalog.Key{ID: run.ID, Attempt: run.Attempt + 1},
		Outcome: outcome.Outcome{State: outcome.Queued}, CreatedAt: time.Now().UTC(), Labels: run.Labels,
		Request: request, ToolVersion: run.ToolVersion,
	}
}

// has reports whether a job is still this worker's. The attempt time distinguishes it from a later assignment to the same worker.
func (q *Queue) has(ctx context.Context, job *rivertype.JobRow) (ours bool, err error) {
	err = q.catalog.Reading(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT count(*) > 0 FROM scidex_oci.river_job
			WHERE id = $1 AND state = 'running' AND attempted_at = $2 AND attempted_by[array_upper(attempted_by, 1)] = $3`,
			job.ID, job.AttemptedAt, job.AttemptedBy[len(job.AttemptedBy)-1]).Scan(&ours)
	})
	return ours, err
}
