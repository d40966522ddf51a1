package riverqueue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// How often River asks the database. A job that is submitted is told by NOTIFY; polling finds those that are given back.
const (
	fetchCooldown = 10 * time.Millisecond
	fetchPoll     = time.Second
)

// Work takes jobs until ctx ends.
func (q *Queue) Work(ctx context.Context, o queue.Options, handle queue.Handler) error {
	pool, err := q.catalog.Connections(ctx)
	if err != nil {
		return fmt.Errorf("work on the queue: %w", err)
	}
	defer pool.Close()
	name, err := workerName()
	if err != nil {
		return fmt.Errorf("work on the queue: %w", err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{queue: q, rescueAfter: o.RescueAfter, handle: handle})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		ID: name, Schema: schema, Logger: q.log, Workers: workers,
		Queues:        map[string]river.QueueConfig{queueName: {MaxWorkers: o.Jobs}},
		FetchCooldown: fetchCooldown, FetchPollInterval: fetchPoll,
		JobTimeout:           -1, // each job has its own
		RescueStuckJobsAfter: o.RescueAfter,
		SoftStopTimeout:      o.Drain,
		ReindexerIndexNames:  []string{}, // the role of runs owns none
	})
	if err != nil {
		return fmt.Errorf("work on the queue: %w", err)
	}
	whole := context.WithoutCancel(ctx) // the end of ctx is a drain
	if err := client.Start(whole); err != nil {
		return fmt.Errorf("work on the queue: %w", q.catalog.Explain(err))
	}
	<-ctx.Done()
	if o.Drain > 0 {
		go func() {
			select {
			case <-o.Now:
				_ = client.StopAndCancel(whole) // so does the Stop below, which waits for it
			case <-client.Stopped():
			}
		}()
		return client.Stop(whole)
	}
	return client.StopAndCancel(whole)
}

// workerName tells a person where a worker is, and no two have the same.
func workerName() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	var random [4]byte
	_, err = rand.Read(random[:])
	return fmt.Sprintf("%.60s/%d/%s", host, os.Getpid(), hex.EncodeToString(random[:])), err
}

// worker is what River calls.
type worker struct {
	river.WorkerDefaults[args]
	queue       *Queue
	rescueAfter time.Duration
	handle      queue.Handler
}

// Timeout is when a job ends here, and when River may bring it to another worker.
func (w *worker) Timeout(job *river.Job[args]) time.Duration {
	return job.Args.job().Limit + w.rescueAfter
}

// NextRetry waits a second after the first error, and twice as long after each other, at most a minute.
func (w *worker) NextRetry(job *river.Job[args]) time.Time {
	return time.Now().Add(min(time.Second<<min(len(job.Errors), 6), time.Minute))
}

// Work does one job.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	if job.Args.V != 1 {
		return fmt.Errorf("a job of version %d; this program knows version 1", job.Args.V)
	}
	working, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(causeOf(ctx)) })()
	err := w.handle(working, &claim{queue: w.queue, job: job})
	// What this returns River writes of the job whoever has it by then (JobSetStateIfRunning asks for no attempt).
	ours, lookErr := w.queue.has(context.WithoutCancel(ctx), job.JobRow)
	if lookErr != nil {
		w.queue.log.Warn("job "+job.Args.ID, "error", lookErr)
	}
	var later *queue.Later
	switch {
	case errors.Is(err, queue.ErrOpen), lookErr != nil, !ours:
		return silence{}
	case errors.As(err, &later):
		return river.JobSnooze(later.After)
	case errors.Is(err, queue.ErrDrained):
		return fmt.Errorf("%w: %w", err, context.Canceled) // River gives it back as it was, with ErrStop as the cause
	}
	return err
}

// causeOf says in the queue's words why River ends a job.
func causeOf(ctx context.Context) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, rivertype.ErrJobCancelledRemotely):
		return queue.ErrCanceled
	case errors.Is(cause, context.DeadlineExceeded):
		return queue.ErrOverdue
	default:
		return queue.ErrDrained
	}
}

// silence is an error of which River writes nothing: it is about no job (River's withJobsAndErrorsByID, which it asks of
// errors that are about several). The job stays as it is: finished in the catalog's transaction, or another worker's.
type silence struct{}

func (silence) Error() string               { return "nothing is to be written of this job" }
func (silence) Jobs() []*rivertype.JobRow   { return nil }
func (silence) ErrorsByID() map[int64]error { return nil }
