// Package riverqueue is a queue.Queue of River's (github.com/riverqueue/river) in the database and schema of a
// PostgreSQL catalog. The row of a run decides what comes of a job; River only brings it (docs/adr/0023).
package riverqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

const (
	schema = "scidex_oci"
	// kind and queueName are what River's tables have of our jobs.
	kind      = "scidex_analysis"
	queueName = "analyses"
	// maxTries bounds how often River brings a job. Retries after errors are counted by their rows; what is left are
	// workers that die, and an analysis that kills each of them must not go round for ever.
	maxTries = 25
)

// Queue is a queue in the database of a catalog.
type Queue struct {
	catalog *postgres.Catalog
	insert  *river.Client[pgx.Tx] // it works on no job
	log     *slog.Logger
}

var _ queue.Queue = (*Queue)(nil)

// Open opens the queue beside a catalog. Tables of River's that are missing or older are made or migrated where the role
// may do so, newer ones are refused. Closing the catalog closes it.
func Open(ctx context.Context, c *postgres.Catalog, log *slog.Logger) (*Queue, error) {
	if _, _, err := Migrate(ctx, c); err != nil {
		return nil, err
	}
	insert, err := river.NewClient(riverpgxv5.New(nil), &river.Config{Schema: schema, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	return &Queue{catalog: c, insert: insert, log: log}, nil
}

// args is a job as River keeps it, in jsonb. Fields are only added.
type args struct {
	V       int             `json:"v"` // 1
	ID      string          `json:"id"`
	Request json.RawMessage `json:"request"`
	Memory  int64           `json:"memory"` // bytes
	CPUs    float64         `json:"cpus"`
	LimitMS int64           `json:"limit_ms"` // timeout and grace
	First   int             `json:"first"`    // attempt; those before it are of other submissions
	Retries int             `json:"retries"`
	NoAudit bool            `json:"no_audit,omitempty"`
}

// Kind is how River tells these jobs from others.
func (args) Kind() string { return kind }

func argsOf(j queue.Submission) args {
	return args{
		V: 1, ID: j.ID, Request: j.Request, Memory: j.Memory, CPUs: j.CPUs, First: j.Run.Attempt,
		LimitMS: j.Limit.Milliseconds(), Retries: j.Retries, NoAudit: j.NoAudit,
	}
}

func (a args) job() queue.Job {
	return queue.Job{
		ID: a.ID, Request: a.Request, Memory: a.Memory, CPUs: a.CPUs,
		Limit: time.Duration(a.LimitMS) * time.Millisecond, Retries: a.Retries, NoAudit: a.NoAudit,
	}
}

// Submit enqueues jobs with their rows.
func (q *Queue) Submit(ctx context.Context, jobs []queue.Submission) error {
	err := q.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		params := make([]river.InsertManyParams, len(jobs))
		for i, j := range jobs {
			if err := postgres.Insert(ctx, tx, j.Run); err != nil {
				return err
			}
			params[i] = river.InsertManyParams{Args: argsOf(j), InsertOpts: &river.InsertOpts{Queue: queueName, MaxAttempts: maxTries}}
		}
		_, err := q.insert.InsertManyTx(ctx, tx, params)
		return err
	})
	if postgres.Unknown(err) {
		return fmt.Errorf("submit: %w; all of it is in the queue or nothing, see \"scidex-oci queue ls\"", err)
	}
	if err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	return nil
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
		case was.State == queue.Running && last.State != catalog.Queued:
		case !last.State.Final(): // no worker has begun it, or none that was heard of in time
			last.Message = "canceled in the queue before anything was run"
			if last.State == catalog.Running {
				last.Message = fmt.Sprintf("canceled in the queue; its worker on host %q was not heard of", last.Host)
			}
			last.State, last.Reason, last.ExitCode, last.FinishedAt = catalog.Canceled, "stopped", canceledExit, time.Now().UTC()
			if err := postgres.End(ctx, tx, last); err != nil {
				return err
			}
		case was.State == queue.Ended:
			return catalog.ErrEnded
		}
		_, err = q.insert.JobCancelTx(ctx, tx, was.Job) // it tells the worker of a running job, with the commit
		return err
	})
	if err != nil && !errors.Is(err, catalog.ErrNotFound) && !errors.Is(err, catalog.ErrEnded) {
		err = fmt.Errorf("cancel %q: %w", id, err)
	}
	return was, err
}

// canceledExit is the exit code of what was stopped: that of SIGTERM.
const canceledExit = 143
