package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// River's polling intervals. NOTIFY announces submitted and due jobs; polling finds those whose short pause is over and
// missed ones. It is most of an idle worker's load.
const (
	fetchCooldown = 10 * time.Millisecond
	fetchPoll     = 5 * time.Second
	// checkInterval is the interval between checks for lost jobs and missed pauses.
	checkInterval = 5 * time.Second
	// checkTimeout bounds such a check.
	checkTimeout = 20 * time.Second
)

// Work takes jobs until ctx ends.
func (q *Queue) Work(ctx context.Context, o queue.Options, handle queue.Handler) error {
	whole := context.WithoutCancel(ctx) // the end of ctx is a drain, also at the start
	pool, err := q.catalog.Connections(whole)
	if err != nil {
		return fmt.Errorf("work on the queue: %w", err)
	}
	closing := pool.Close
	defer func() { closing() }()
	classes := o.Classes
	if len(classes) == 0 {
		classes = []string{queue.DefaultClass}
	}
	w := &worker{queue: q, rescueAfter: o.RescueAfter, handle: handle, active: active{jobs: map[int64]bool{}}}
	queues := map[string]river.QueueConfig{}
	for _, class := range classes {
		queues[queueOf(class)] = river.QueueConfig{MaxWorkers: o.Jobs}
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, w)
	client, err := river.NewClient(driver{riverpgxv5.New(pool)}, &river.Config{
		ID: o.Name, Schema: schema, Logger: q.log, Workers: workers,
		Queues:        queues,
		FetchCooldown: fetchCooldown, FetchPollInterval: fetchPoll,
		JobTimeout:           -1, // each job has one
		RescueStuckJobsAfter: o.RescueAfter,
		SoftStopTimeout:      o.Drain,
		ReindexerIndexNames:  []string{}, // the role of runs owns none
	})
	if err != nil {
		return fmt.Errorf("work on the queue: %w", err)
	}
	if err := q.checkClock(whole, o.RescueAfter/2); err != nil {
		return fmt.Errorf("work on the queue: %w", err)
	}
	nothing := func(context.Context, pgx.Tx) error { return nil }
	names := slices.Sorted(maps.Keys(queues))
	if err := q.queues(whole, names, nothing); err != nil {
		return fmt.Errorf("work on the queue: %w", err)
	}
	if err := w.pauses.begin(whole, q, names); err != nil {
		return fmt.Errorf("work on the queue: %w", err)
	}
	release, err := q.hold(whole, pool, o)
	if err != nil {
		return fmt.Errorf("work on the queue: %w", err)
	}
	defer release()
	events, unsubscribe := client.Subscribe(river.EventKindQueuePaused, river.EventKindQueueResumed)
	defer unsubscribe()
	go w.pauses.follow(events)
	if err := client.Start(whole); err != nil {
		return fmt.Errorf("work on the queue: %w", q.catalog.Explain(err))
	}
	go q.endDiscarded(ctx)
	w.checkMissed(ctx, pool, o.Name, names)
	bounded, giveUp := context.WithCancel(whole)
	defer giveUp()
	go func() {
		if w.waitIdle(bounded, stopTimeout) {
			giveUp()
		}
	}()
	if o.Drain > 0 {
		go func() {
			select {
			case <-o.Now:
				_ = client.StopAndCancel(whole) // so does the Stop below, which waits for it
			case <-client.Stopped():
			}
		}()
		err = client.Stop(bounded)
	} else {
		err = client.StopAndCancel(bounded)
	}
	if err != nil {
		closing = func() { go pool.Close() } // it would wait for connections that River still uses
		return fmt.Errorf("PostgreSQL was not told within %v that this worker ends; a job that it was about to get goes to another worker when its time is over", stopTimeout)
	}
	return nil
}

// stopTimeout bounds an idle worker's wait for River to stop, which waits for PostgreSQL: some 20 s for pending queries, then
// as long for the rest.
const stopTimeout = 15 * time.Second

// waitIdle reports whether no job ran for so long, or false if ctx ends first.
func (w *worker) waitIdle(ctx context.Context, long time.Duration) bool {
	const often = 100 * time.Millisecond
	for since := time.Now(); ; {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(often):
		}
		if len(w.active.known()) > 0 {
			since = time.Now()
		}
		if time.Since(since) > long {
			return true
		}
	}
}

// checkMissed checks periodically, until ctx ends, for jobs and pauses that this worker missed. It keeps a connection: a new
// one each time was most of an idle worker's cost.
func (w *worker) checkMissed(ctx context.Context, kept *pgxpool.Pool, name string, queues []string) {
	look := time.NewTicker(checkInterval)
	defer look.Stop()
	var lost []int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		var missed []string
		looking, done := context.WithTimeout(ctx, checkTimeout)
		err := pgx.BeginFunc(looking, kept, func(tx pgx.Tx) (err error) {
			if lost, err = w.returnLost(looking, tx, name, lost); err != nil {
				return err
			}
			missed, err = w.pauses.missed(looking, tx, queues)
			return err
		})
		done()
		if err == nil && len(missed) > 0 {
			err = w.queue.repeatNotifications(ctx, missed)
		}
		if err != nil {
			w.queue.log.Debug("look for jobs whose worker is silent", "error", err)
		}
	}
}

// returnLost makes jobs available again that were assigned to this worker but lost with a reply. A job counts as lost if
// two checks in a row find it; before has those of the first. A job with a running run is not returned: its result may
// be waiting here for the commit. If a lost job arrives after all, the row decides.
func (w *worker) returnLost(ctx context.Context, tx pgx.Tx, name string, before []int64) (lost []int64, err error) {
	known := w.active.known()
	if len(before) > 0 {
		rows, err := tx.Query(ctx, `UPDATE scidex_oci.river_job j SET state = 'available', scheduled_at = now(), attempt = greatest(attempt - 1, 0)
			WHERE id = ANY($3) AND `+lostJob+` RETURNING queue`, name, known, before)
		if err != nil {
			return nil, err
		}
		back, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err == nil {
			err = notifyWorkers(ctx, tx, back)
		}
		if err != nil {
			return nil, err
		}
	}
	rows, err := tx.Query(ctx, `SELECT id FROM scidex_oci.river_job j WHERE `+lostJob, name, known)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// lostJob is a job of worker $1 that is not in $2.
const lostJob = `j.state = 'running' AND j.id <> ALL($2) AND j.attempted_by[array_upper(j.attempted_by, 1)] = $1
	AND NOT EXISTS (SELECT FROM scidex_oci.analysis_run r WHERE r.id = j.args ->> 'id' AND r.state = 'running')`

// worker is River's Worker.
type worker struct {
	river.WorkerDefaults[args]
	queue       *Queue
	rescueAfter time.Duration
	handle      queue.Handler
	pauses      pauses
	active      active
}

// Timeout is when a job ends here, and when River may rescue it.
func (w *worker) Timeout(job *river.Job[args]) time.Duration {
	return job.Args.job().Limit + w.rescueAfter
}

// NextRetry waits a second after the first error, twice as long after each other, at most a minute.
func (w *worker) NextRetry(job *river.Job[args]) time.Time {
	return time.Now().Add(backoff.Doubled(time.Second, time.Minute, len(job.Errors)))
}

// Work runs one job.
func (w *worker) Work(ctx context.Context, job *river.Job[args]) error {
	w.active.add(job.ID)
	defer w.active.remove(job.ID)
	if job.Args.unread != nil {
		return w.refuse(context.WithoutCancel(ctx), job)
	}
	working, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(causeOf(ctx)) })()
	var err error = &queue.Later{After: newer, Unfit: true, Why: fmt.Sprintf("a job of version %d, and worker %s knows version %d", job.Args.V, by(job), argsVersion)}
	if job.Args.V == argsVersion {
		err = w.handle(working, &claim{queue: w.queue, job: job})
	}
	// River applies this even if another worker has it now (JobSetStateIfRunning ignores attempts).
	ours, lookErr := w.queue.has(context.WithoutCancel(ctx), job.JobRow)
	if lookErr != nil {
		w.queue.log.Warn("job "+job.Args.ID, "error", lookErr)
	}
	var later *queue.Later
	switch {
	case errors.Is(err, queue.ErrOpen), lookErr != nil, !ours:
		return silence{}
	case errors.As(err, &later):
		w.queue.returned(context.WithoutCancel(ctx), job, later)
		return river.JobSnooze(later.After)
	case errors.Is(err, catalog.ErrNotFound): // its run was removed
		return river.JobCancel(err)
	case errors.Is(err, queue.ErrDrained):
		return fmt.Errorf("%w: %w", err, context.Canceled) // River returns it unchanged, with ErrStop as the cause
	}
	return err
}

// newer is how long a job written by a newer scidex-oci is left to newer workers.
const newer = 30 * time.Second

// by is the name of the worker that has a job.
func by(job *river.Job[args]) string { return job.AttemptedBy[len(job.AttemptedBy)-1] }

// refuse ends a job with unreadable arguments and the row that waits for it.
func (w *worker) refuse(ctx context.Context, job *river.Job[args]) error {
	unread := fmt.Errorf("its job in the queue cannot be read: %w", job.Args.unread)
	err := w.queue.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		run, err := postgres.Last(ctx, tx, job.Args.ID)
		if err != nil || run.State != outcome.Queued {
			return err
		}
		run.Outcome, run.FinishedAt = outcome.Fault(outcome.ReasonRequest, unread.Error()), run.EndsNow()
		return postgres.End(ctx, tx, run)
	})
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return err
	}
	return river.JobCancel(unread)
}

// returned records why a job is returned, whether its worker can ever run it, when a worker that can last had it, and since when
// it could have run: a return changes its scheduled time, and no try is counted. It is only informative.
func (q *Queue) returned(ctx context.Context, job *river.Job[args], later *queue.Later) {
	err := q.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE scidex_oci.river_job SET metadata = metadata || jsonb_build_object('`+returned+`',
				jsonb_strip_nulls(jsonb_build_object('why', $2::text, 'taken', extract(epoch FROM attempted_at)::text, 'unfit', $4::boolean,
					'fits', CASE WHEN $4 THEN metadata -> '`+returned+`' -> 'fits' ELSE to_jsonb(extract(epoch FROM now())) END, 'try', attempt,
					'since', CASE metadata -> '`+returned+`' ->> 'try' WHEN attempt::text THEN metadata -> '`+returned+`' -> 'since' ELSE to_jsonb(extract(epoch FROM scheduled_at)) END)))
			WHERE id = $1 AND state = 'running' AND attempted_at = $3`, job.ID, later.Why, job.AttemptedAt, later.Unfit)
		return err
	})
	if err != nil {
		q.log.Warn("job "+job.Args.ID, "error", err)
	}
}

// causeOf translates River's reason to end a job.
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

// silence is an error that River does not record: it names no job (River's withJobsAndErrorsByID, used for batch errors).
// The job stays as it is: finished in the catalog's transaction, or another worker's.
type silence struct{}

func (silence) Error() string               { return "nothing is to be written of this job" }
func (silence) Jobs() []*rivertype.JobRow   { return nil }
func (silence) ErrorsByID() map[int64]error { return nil }
