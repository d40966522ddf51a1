package riverqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// River's MaxWorkers cannot change while a client runs. So a client has that of the most jobs that its worker may ever have,
// and the driver takes fewer. River does not fetch again by itself after a job for which it had a place anyway: the driver
// lets it hear of available jobs, as by NOTIFY, each time one has ended.

// fetcher says how many jobs River may take.
type fetcher struct {
	active *active
	pool   *pgxpool.Pool
	jobs   int        // of each queue
	ahead  func() int // how many besides
	wake   chan string
}

// wakesMost bounds the wakes that wait for River; polling finds what further ones were for.
const wakesMost = 64

// maxWorkers is River's.
func (f *fetcher) maxWorkers() int {
	if f.ahead == nil {
		return f.jobs
	}
	return 2 * f.jobs
}

// waited is how long a job must have been available before it is taken ahead: a worker with a free place has taken it by then.
const waited = "1 s"

// allowed is how many of up to most jobs of a queue may be taken now. Only where none of the worker's places is free are some
// taken ahead, and only those that no other worker has a place for.
func (f *fetcher) allowed(ctx context.Context, queue string, most int) (n int, err error) {
	here, everywhere := f.active.count(queue)
	if free := f.jobs - here; free > 0 {
		return min(free, most), nil
	}
	ahead := min(f.ahead(), f.jobs)
	if most = min(most, f.jobs+ahead-everywhere); ahead <= 0 || most <= 0 {
		return 0, nil
	}
	err = f.pool.QueryRow(ctx, `SELECT count(*) FROM (SELECT FROM scidex_oci.river_job
		WHERE state = 'available' AND queue = $1 AND scheduled_at < now() - interval '`+waited+`' LIMIT $2) j`, queue, most).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("look for jobs to prepare: %w", err)
	}
	return n, nil
}

// again has River fetch jobs of a queue.
func (f *fetcher) again(queue string) {
	if f.ahead == nil {
		return // River does so
	}
	select {
	case f.wake <- queue:
	default:
	}
}

// fetching is an executor that takes as many jobs as are allowed.
type fetching struct {
	executor
	*fetcher
}

// JobGetAvailable takes jobs. They are active at once: River starts them later.
func (e fetching) JobGetAvailable(ctx context.Context, params *riverdriver.JobGetAvailableParams) ([]*rivertype.JobRow, error) {
	own := *params
	var err error
	if own.MaxToLock, err = e.allowed(ctx, own.Queue, own.MaxToLock); err != nil || own.MaxToLock <= 0 {
		return nil, err
	}
	jobs, err := e.executor.JobGetAvailable(ctx, &own)
	for _, job := range jobs {
		if job.Kind == kind {
			e.active.add(job.ID, job.Queue)
		}
	}
	if len(jobs) == own.MaxToLock {
		e.again(own.Queue) // there may be more
	}
	return jobs, err
}

// listener is River's listener, which hears of wakes too.
type listener struct {
	riverdriver.Listener
	wake chan string
}

// WaitForNotification waits for a notification or a wake.
func (l listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	type heard struct {
		note *riverdriver.Notification
		err  error
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	listened := make(chan heard, 1)
	go func() {
		note, err := l.Listener.WaitForNotification(waiting)
		listened <- heard{note, err}
	}()
	select {
	case h := <-listened:
		return h.note, h.err
	case queue := <-l.wake:
		cancel()
		h := <-listened
		if errors.Is(h.err, context.Canceled) {
			return insertion(queue)
		}
		select {
		case l.wake <- queue: // the other comes first
		default:
		}
		return h.note, h.err
	}
}

// insertion is River's notification of an available job.
func insertion(queue string) (*riverdriver.Notification, error) {
	payload, err := json.Marshal(map[string]string{"queue": queue})
	return &riverdriver.Notification{Topic: "river_insert", Payload: string(payload)}, err
}
