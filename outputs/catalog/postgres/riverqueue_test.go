package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres/riverqueue"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// queued is a queue as the role of runs has it, and what its tests do with it.
type queued struct {
	*testing.T
	catalog *postgres.Catalog
	*riverqueue.Queue
	execute func(sql string, args ...any)
}

// making is held while a database is made, whose roles are those of all.
var making sync.Mutex

func newQueued(t *testing.T) *queued {
	t.Helper()
	t.Parallel()
	making.Lock()
	admin, runner, execute := postgres.Roled(t)
	making.Unlock()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	boss := opening(t, admin)
	c := opening(t, runner)
	_, err := riverqueue.Open(t.Context(), c, log)
	if err == nil || !strings.Contains(err.Error(), "catalog migrate") {
		t.Fatalf("the role of runs may make tables: %v", err)
	}
	if before, after, err := riverqueue.Migrate(t.Context(), boss); before != 0 || after < 7 || err != nil {
		t.Fatalf("migrated from %d to %d: %v", before, after, err)
	}
	if before, after, err := riverqueue.Migrate(t.Context(), c); before != after || err != nil {
		t.Fatalf("migrated again from %d to %d: %v", before, after, err)
	}
	q, err := riverqueue.Open(t.Context(), c, log)
	if err != nil {
		t.Fatal(err)
	}
	return &queued{t, c, q, execute}
}

func opening(t *testing.T, url string) *postgres.Catalog {
	t.Helper()
	c, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // nothing is under way
	return c
}

func (q *queued) submit(id string) queue.Submission {
	q.Helper()
	s := queue.Submission{
		Job: queue.Job{ID: id, Request: json.RawMessage(`{"command": ["true"]}`), Memory: 1, CPUs: 1, Limit: time.Hour, Retries: 1},
		Run: catalog.Run{Key: catalog.Key{ID: id, Attempt: 1}, State: catalog.Queued, CreatedAt: time.Now(), Request: json.RawMessage(`{}`)},
	}
	if err := q.Submit(q.Context(), []queue.Submission{s}); err != nil {
		q.Fatal(err)
	}
	return s
}

// work starts a worker that ends with the test.
func (q *queued) work(handle queue.Handler) (drain func()) {
	q.Helper()
	ctx, cancel := context.WithCancel(q.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Work(ctx, queue.Options{Jobs: 2, Drain: 100 * time.Millisecond, RescueAfter: time.Hour}, handle)
	}()
	waited := false
	drain = func() {
		if cancel(); !waited {
			waited = true
			if err := <-ended; err != nil {
				q.Errorf("the worker ended with: %v", err)
			}
		}
	}
	q.Cleanup(drain)
	return drain
}

// want waits until the queue has an analysis as it is to be: the state of its job, and of all its attempts.
func (q *queued) want(id, job string, attempts ...catalog.State) {
	q.Helper()
	var e queue.Entry
	var states []catalog.State
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var err error
		if e, err = q.Get(context.WithoutCancel(q.Context()), id); err != nil {
			q.Fatal(err)
		}
		runs, err := q.catalog.List(context.WithoutCancel(q.Context()), catalog.Filter{ID: id})
		if err != nil {
			q.Fatal(err)
		}
		states = nil
		same := e.State == job && len(runs) == len(attempts)
		for i := range runs {
			states = append(states, runs[len(runs)-1-i].State)
			same = same && states[i] == attempts[i]
		}
		if same {
			return
		}
	}
	q.Fatalf("the job of %s is %s and its attempts are %v; want %s and %v", id, e.State, states, job, attempts)
}

// began takes a claim to a running run.
func began(ctx context.Context, c queue.Claim) (catalog.Run, error) {
	run, _, err := c.Settle(ctx)
	if err == nil {
		err = c.Begin(ctx, run)
	}
	return run, err
}

// over ends a run.
func over(ctx context.Context, c queue.Claim, run catalog.Run, state catalog.State, then queue.Then) error {
	run.State, run.Reason, run.FinishedAt = state, "exit", time.Now()
	listed := false
	return c.Commit(ctx, run, func() (outputs.Entry, error) {
		if listed {
			return outputs.Entry{}, io.EOF
		}
		listed = true
		return outputs.Entry{Path: []byte("out"), SHA256: strings.Repeat("a", 64), Size: 1, Mode: 0o644}, nil
	}, then)
}

// A run and its job end in one transaction; after an error both come again.
func TestQueueOnceMore(t *testing.T) {
	q := newQueued(t)
	s := q.submit("a")
	if err := q.Submit(t.Context(), []queue.Submission{s}); !errors.Is(err, catalog.ErrExists) {
		t.Errorf("submitted twice: %v", err)
	}
	tries := 0
	q.work(func(ctx context.Context, c queue.Claim) error {
		tries++
		run, err := began(ctx, c)
		if err != nil {
			return err
		}
		if tries == 1 {
			return errors.Join(errors.New("no disk"), over(ctx, c, run, catalog.Error, queue.Requeue))
		}
		err = over(ctx, c, run, catalog.Complete, queue.Finish)
		if e, lost := q.Get(ctx, "a"); lost != nil || e.State != queue.Ended {
			t.Errorf("the run is committed and its job is %s: %v", e.State, lost)
		}
		return err
	})
	q.want("a", queue.Ended, catalog.Error, catalog.Complete)
	if e, err := q.Get(t.Context(), "a"); err != nil || e.Tries != 2 || len(e.Errors) != 1 || e.Errors[0] != "no disk" {
		t.Errorf("%+v, %v", e, err)
	}
}

// A job that is brought to two workers is one's: the first cannot commit any more, and what it returns does nothing to the
// job of the second.
func TestQueueSuperseded(t *testing.T) {
	for name, returned := range map[string]error{"an error": errors.New("too late"), "nothing": nil} {
		t.Run(name, func(t *testing.T) {
			q := newQueued(t)
			q.submit("a")
			type taken struct {
				ctx   context.Context
				claim queue.Claim
				run   catalog.Run
				end   chan error
			}
			takes := make(chan taken, 2)
			q.work(func(ctx context.Context, c queue.Claim) error {
				run, err := began(ctx, c)
				if err != nil {
					t.Errorf("settle and begin: %v", err)
					return err
				}
				mine := taken{ctx, c, run, make(chan error)}
				takes <- mine
				return <-mine.end
			})
			first := <-takes
			q.execute(`UPDATE scidex_oci.river_job SET state = 'available'`) // as River's rescuer does
			second := <-takes
			q.want("a", queue.Running, catalog.Lost, catalog.Running)
			if err := over(first.ctx, first.claim, first.run, catalog.Complete, queue.Finish); !errors.Is(err, catalog.ErrEnded) {
				t.Errorf("the first could commit: %v", err)
			}
			first.end <- returned
			time.Sleep(500 * time.Millisecond) // River would write what came of it within
			q.want("a", queue.Running, catalog.Lost, catalog.Running)
			err := over(second.ctx, second.claim, second.run, catalog.Complete, queue.Finish)
			second.end <- err
			if err != nil {
				t.Errorf("the second could not commit: %v", err)
			}
			q.want("a", queue.Ended, catalog.Lost, catalog.Complete)
		})
	}
}

// Whoever is brought a job whose run has ended finishes the job and runs nothing: the worker that ended it, or River's
// rescuer at the same moment, may have left it.
func TestQueueDoneAlready(t *testing.T) {
	q := newQueued(t)
	q.submit("a")
	drain := q.work(func(ctx context.Context, c queue.Claim) error {
		run, err := began(ctx, c)
		if err == nil {
			err = over(ctx, c, run, catalog.Failed, queue.Finish)
		}
		return err
	})
	q.want("a", queue.Ended, catalog.Failed)
	drain()
	q.execute(`UPDATE scidex_oci.river_job SET state = 'available', finalized_at = NULL`)
	settled := make(chan error, 1)
	q.work(func(ctx context.Context, c queue.Claim) error {
		_, _, err := c.Settle(ctx)
		settled <- err
		return nil
	})
	if err := <-settled; !errors.Is(err, queue.ErrDone) {
		t.Errorf("settled: %v", err)
	}
	q.want("a", queue.Ended, catalog.Failed)
}

// A drain gives a job back without counting the try, and a cancellation reaches it.
func TestQueueHandedBack(t *testing.T) {
	q := newQueued(t)
	q.submit("a")
	causes := make(chan error, 2)
	handle := func(ctx context.Context, c queue.Claim) error {
		run, err := began(ctx, c)
		if err != nil {
			return err
		}
		<-ctx.Done()
		cause := context.Cause(ctx)
		then := queue.Finish
		if errors.Is(cause, queue.ErrDrained) {
			then = queue.Requeue
		}
		err = over(context.WithoutCancel(ctx), c, run, catalog.Canceled, then)
		causes <- cause
		return errors.Join(cause, err)
	}
	drain := q.work(handle)
	q.want("a", queue.Running, catalog.Running)
	drain()
	if err := <-causes; !errors.Is(err, queue.ErrDrained) {
		t.Errorf("the cause is %v", err)
	}
	q.want("a", queue.Waiting, catalog.Canceled, catalog.Queued)
	if e, err := q.Get(t.Context(), "a"); err != nil || e.Tries != 0 || len(e.Errors) != 0 {
		t.Errorf("handed back it is %+v, %v", e, err)
	}
	q.work(handle)
	q.want("a", queue.Running, catalog.Canceled, catalog.Running)
	if was, err := q.Cancel(t.Context(), "a"); err != nil || was.State != queue.Running {
		t.Errorf("%+v, %v", was, err)
	}
	if err := <-causes; !errors.Is(err, queue.ErrCanceled) {
		t.Errorf("the cause is %v", err)
	}
	q.want("a", queue.Ended, catalog.Canceled, catalog.Canceled)

	q.submit("b")
	q.want("b", queue.Running, catalog.Running)
	q.execute(`UPDATE scidex_oci.river_job SET state = 'cancelled', finalized_at = now() WHERE state = 'running'`) // as the rescuer does
	if _, err := q.Cancel(t.Context(), "b"); err != nil {
		t.Error(err)
	}
	q.want("b", queue.Ended, catalog.Canceled)
	if _, err := q.Cancel(t.Context(), "a"); !errors.Is(err, catalog.ErrEnded) {
		t.Errorf("canceled twice: %v", err)
	}
}

// A job that is canceled in the moment in which it is to come again does not, and no row waits for it for ever.
func TestQueueCanceledBetween(t *testing.T) {
	for _, before := range []bool{false, true} {
		t.Run(fmt.Sprintf("before the commit %v", before), func(t *testing.T) {
			q := newQueued(t)
			q.submit("a")
			cancel := func() {
				if _, err := q.Cancel(context.WithoutCancel(t.Context()), "a"); err != nil {
					t.Error(err)
				}
			}
			q.work(func(ctx context.Context, c queue.Claim) error {
				ctx = context.WithoutCancel(ctx)
				run, err := began(ctx, c)
				if err != nil {
					return err
				}
				if before {
					cancel()
				}
				err = over(ctx, c, run, catalog.Error, queue.Requeue)
				if !before {
					cancel()
				}
				return errors.Join(errors.New("no disk"), err)
			})
			if before {
				q.want("a", queue.Ended, catalog.Error)
			} else {
				q.want("a", queue.Ended, catalog.Error, catalog.Canceled)
			}
		})
	}
}

// Whoever waits for the last row of an analysis gets the one that was written meanwhile.
func TestQueueLast(t *testing.T) {
	q := newQueued(t)
	q.submit("a")
	held, let, got := make(chan bool), make(chan bool), make(chan int)
	go func() {
		err := q.catalog.Within(context.WithoutCancel(t.Context()), func(ctx context.Context, tx pgx.Tx) error {
			run, err := postgres.Last(ctx, tx, "a")
			if err != nil {
				return err
			}
			close(held)
			<-let
			run.Attempt++
			return postgres.Insert(ctx, tx, run)
		})
		if err != nil {
			t.Error(err)
		}
	}()
	<-held
	go func() {
		err := q.catalog.Within(context.WithoutCancel(t.Context()), func(ctx context.Context, tx pgx.Tx) error {
			run, err := postgres.Last(ctx, tx, "a")
			got <- run.Attempt
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}()
	time.Sleep(300 * time.Millisecond) // it waits
	close(let)
	if n := <-got; n != 2 {
		t.Errorf("the last attempt is %d", n)
	}
}
