package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"reflect"
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
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// queued is a queue of the role of runs, for a test.
type queued struct {
	*testing.T
	catalog *postgres.Catalog
	*riverqueue.Queue
	url     string // as the role of runs
	execute func(sql string, args ...any)
}

func newQueued(t *testing.T) *queued {
	t.Helper()
	t.Parallel()
	roles := postgres.WithQueue(t, func(roles postgres.Roles) { migrateQueue(t, roles) })
	c := opening(t, roles.Runner)
	q, err := riverqueue.Open(t.Context(), c, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return &queued{t, c, q, roles.Runner, roles.Execute}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// TestQueueMigrates: the role of runs cannot make tables, and its error names the role that can. The role of administrators
// makes them, once.
func TestQueueMigrates(t *testing.T) {
	migrateQueue(t, postgres.Fresh(t))
}

// migrateQueue makes the tables of an empty database. Their connections are closed: nobody may copy a database that is in use.
func migrateQueue(t *testing.T, roles postgres.Roles) {
	t.Helper()
	boss := connect(t, roles.Admin)
	defer boss.Close()
	c := connect(t, roles.Runner)
	defer c.Close()
	if _, err := riverqueue.Open(t.Context(), c, quiet()); err == nil || !strings.Contains(err.Error(), "catalog migrate") {
		t.Fatalf("the role of runs may make tables: %v", err)
	}
	if before, after, err := riverqueue.Migrate(t.Context(), boss); before != 0 || after < 7 || err != nil {
		t.Fatalf("migrated from %d to %d: %v", before, after, err)
	}
	if before, after, err := riverqueue.Migrate(t.Context(), c); before != after || err != nil {
		t.Fatalf("migrated again from %d to %d: %v", before, after, err)
	}
}

func connect(t *testing.T, url string) *postgres.Catalog {
	t.Helper()
	c, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func opening(t *testing.T, url string) *postgres.Catalog {
	t.Helper()
	c := connect(t, url)
	t.Cleanup(func() { _ = c.Close() }) // nothing is under way
	return c
}

func (q *queued) submit(id string, with ...func(*queue.Submission)) queue.Submission {
	q.Helper()
	s := queue.Submission{
		Retries: 1,
		Run: catalog.Run{
			Key: catalog.Key{ID: id, Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Queued}, CreatedAt: time.Now(),
			Request: json.RawMessage(`{"command": ["true"]}`),
		},
	}
	for _, set := range with {
		set(&s)
	}
	placed, err := q.Submit(q.Context(), []queue.Submission{s})
	if err != nil {
		q.Fatal(err)
	}
	if want := (queue.Placed{Key: s.Run.Key, State: outcome.Queued}); len(placed) != 1 || placed[0] != want {
		q.Errorf("placed %+v, want %+v", placed, want)
	}
	return s
}

// work starts a worker that ends with the test.
func (q *queued) work(handle queue.Handler, classes ...string) (drain func()) {
	q.Helper()
	ctx, cancel := context.WithCancel(q.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Work(ctx, queue.Options{Name: fmt.Sprintf("host/1/%d", rand.Int()), Classes: classes, Jobs: 2, Drain: 100 * time.Millisecond, RescueAfter: time.Hour}, handle)
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

// want waits until an analysis in the queue is as wanted: the state of its job, and those of all its attempts.
func (q *queued) want(id, job string, attempts ...outcome.State) {
	q.Helper()
	var e queue.Entry
	var states []outcome.State
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
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
	run, _, err := c.PrepareRow(ctx)
	if err == nil {
		err = c.Begin(ctx, run)
	}
	return run, err
}

// over ends a run.
func over(ctx context.Context, c queue.Claim, run catalog.Run, state outcome.State, then queue.Then) error {
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

// A run and its job end in one transaction; after an error both are queued again.
func TestQueueRetriesAfterError(t *testing.T) {
	q := newQueued(t)
	s := q.submit("a")
	if _, err := q.Submit(t.Context(), []queue.Submission{s}); !errors.Is(err, catalog.ErrExists) {
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
			return errors.Join(errors.New("no disk"), over(ctx, c, run, outcome.Error, queue.Requeue))
		}
		err = over(ctx, c, run, outcome.Complete, queue.Finish)
		if e, lost := q.Get(ctx, "a"); lost != nil || e.State != queue.Ended {
			t.Errorf("the run is committed and its job is %s: %v", e.State, lost)
		}
		return err
	})
	q.want("a", queue.Ended, outcome.Error, outcome.Complete)
	if e, err := q.Get(t.Context(), "a"); err != nil || e.Tries != 2 || len(e.Errors) != 1 || e.Errors[0] != "no disk" {
		t.Errorf("%+v, %v", e, err)
	}
}

// A job that was written by SQL, with only the analysis' id and request, works like any other job. Its limits are in the
// request, and its retries are counted from the attempt that was queued with the job.
func TestQueueBySQL(t *testing.T) {
	q := newQueued(t)
	request := `{"command": ["true"], "memory": "64MiB", "timeout": "1m"}`
	for attempt, state := range []string{"error", "queued"} {
		q.execute(`INSERT INTO scidex_oci.analysis_run (id, attempt, state, created_at, request, host, boot_id, tool_version)
			VALUES ('a', $1, $2, now(), '{}', '', '', '')`, attempt+1, state)
	}
	q.execute(`INSERT INTO scidex_oci.river_job (kind, queue, max_attempts, args) VALUES ('scidex_analysis', 'analyses', 25,
		jsonb_build_object('v', 1, 'id', 'a', 'request', $1::jsonb))`, request)
	want := queue.Job{ID: "a", Class: queue.DefaultClass, Memory: 64 << 20, CPUs: 1, Limit: 65 * time.Second, Retries: queue.DefaultRetries}
	before := make(chan int, 3)
	q.work(func(ctx context.Context, c queue.Claim) error {
		job := c.Job()
		run, failures, err := c.PrepareRow(ctx)
		if err == nil {
			err = c.Begin(ctx, run)
		}
		if err != nil {
			return err
		}
		before <- failures
		if string(run.Request) != string(job.Request) {
			t.Errorf("it runs %s, and the job asks for %s", run.Request, job.Request)
		}
		if job.Request = nil; !reflect.DeepEqual(job, want) {
			t.Errorf("brought %+v, want %+v", job, want)
		}
		if failures == 0 {
			return errors.Join(errors.New("no disk"), over(ctx, c, run, outcome.Error, queue.Requeue))
		}
		return over(ctx, c, run, outcome.Complete, queue.Finish)
	})
	q.want("a", queue.Ended, outcome.Error, outcome.Error, outcome.Complete)
	if first, second := <-before, <-before; first != 0 || second != 1 {
		t.Errorf("%d failures before the first, %d before the second; want 0 and 1", first, second)
	}
}

// A job that is delivered to two workers belongs to the second: the first can no longer commit, and what its handler
// returns does not change the job.
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
					t.Errorf("prepare and begin: %v", err)
					return err
				}
				mine := taken{ctx, c, run, make(chan error)}
				takes <- mine
				return <-mine.end
			})
			first := <-takes
			q.execute(`UPDATE scidex_oci.river_job SET state = 'available'`) // as River's rescuer does
			second := <-takes
			q.want("a", queue.Running, outcome.Lost, outcome.Running)
			if err := over(first.ctx, first.claim, first.run, outcome.Complete, queue.Finish); !errors.Is(err, catalog.ErrEnded) {
				t.Errorf("the first could commit: %v", err)
			}
			first.end <- returned
			time.Sleep(500 * time.Millisecond) // River would write what came of it within
			q.want("a", queue.Running, outcome.Lost, outcome.Running)
			err := over(second.ctx, second.claim, second.run, outcome.Complete, queue.Finish)
			second.end <- err
			if err != nil {
				t.Errorf("the second could not commit: %v", err)
			}
			q.want("a", queue.Ended, outcome.Lost, outcome.Complete)
		})
	}
}

// A worker that gets a job whose run has ended finishes the job and runs nothing: the worker that ended the run, or
// River's rescuer at the same moment, may have left it.
func TestQueueDoneAlready(t *testing.T) {
	q := newQueued(t)
	q.submit("a")
	drain := q.work(func(ctx context.Context, c queue.Claim) error {
		run, err := began(ctx, c)
		if err == nil {
			err = over(ctx, c, run, outcome.Failed, queue.Finish)
		}
		return err
	})
	q.want("a", queue.Ended, outcome.Failed)
	drain()
	q.execute(`UPDATE scidex_oci.river_job SET state = 'available', finalized_at = NULL`)
	prepared := make(chan error, 1)
	q.work(func(ctx context.Context, c queue.Claim) error {
		_, _, err := c.PrepareRow(ctx)
		prepared <- err
		return nil
	})
	if err := <-prepared; !errors.Is(err, queue.ErrDone) {
		t.Errorf("prepared: %v", err)
	}
	q.want("a", queue.Ended, outcome.Failed)
}

// A drain returns a job without counting the try, and a cancellation reaches it.
func TestQueueReturnedByDrain(t *testing.T) {
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
		err = over(context.WithoutCancel(ctx), c, run, outcome.Canceled, then)
		causes <- cause
		return errors.Join(cause, err)
	}
	drain := q.work(handle)
	q.want("a", queue.Running, outcome.Running)
	drain()
	if err := <-causes; !errors.Is(err, queue.ErrDrained) {
		t.Errorf("the cause is %v", err)
	}
	q.want("a", queue.Waiting, outcome.Canceled, outcome.Queued)
	if e, err := q.Get(t.Context(), "a"); err != nil || e.Tries != 0 || len(e.Errors) != 0 {
		t.Errorf("handed back it is %+v, %v", e, err)
	}
	q.work(handle)
	q.want("a", queue.Running, outcome.Canceled, outcome.Running)
	if was, err := q.Cancel(t.Context(), "a"); err != nil || was.State != queue.Running {
		t.Errorf("%+v, %v", was, err)
	}
	if err := <-causes; !errors.Is(err, queue.ErrCanceled) {
		t.Errorf("the cause is %v", err)
	}
	q.want("a", queue.Ended, outcome.Canceled, outcome.Canceled)

	q.submit("b")
	q.want("b", queue.Running, outcome.Running)
	q.execute(`UPDATE scidex_oci.river_job SET state = 'cancelled', finalized_at = now() WHERE state = 'running'`) // as the rescuer does
	if _, err := q.Cancel(t.Context(), "b"); err != nil {
		t.Error(err)
	}
	q.want("b", queue.Ended, outcome.Canceled)
	if _, err := q.Cancel(t.Context(), "a"); !errors.Is(err, catalog.ErrEnded) {
		t.Errorf("canceled twice: %v", err)
	}
}

// A job that is canceled at the moment at which it would be queued again is not queued again, and no row waits for it forever.
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
				err = over(ctx, c, run, outcome.Error, queue.Requeue)
				if !before {
					cancel()
				}
				return errors.Join(errors.New("no disk"), err)
			})
			if before {
				q.want("a", queue.Ended, outcome.Error)
			} else {
				q.want("a", queue.Ended, outcome.Error, outcome.Canceled)
			}
		})
	}
}

// A transaction that waits for the last row of an analysis gets the row that was written while it waited.
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

// An analysis that has ended in an error, was lost or canceled gets a further attempt and runs; one that has ended by
// itself, or is in the queue, does not. One of several concurrent callers gets it.
func TestQueueRetry(t *testing.T) {
	q := newQueued(t)
	for _, id := range []string{"error", "failed", "canceled", "waits"} {
		q.submit(id)
	}
	if _, err := q.Cancel(t.Context(), "canceled"); err != nil {
		t.Fatal(err)
	}
	q.execute(`UPDATE scidex_oci.river_job SET scheduled_at = now() + interval '1h' WHERE args ->> 'id' = 'waits'`)
	again := false
	work := func() (drain func()) {
		return q.work(func(ctx context.Context, c queue.Claim) error {
			run, err := began(ctx, c)
			if err != nil {
				return err
			}
			state := outcome.State(run.ID)
			if again {
				state = outcome.Complete
			}
			if run.ID == "canceled" && !again {
				t.Error("what was canceled runs")
			}
			return over(ctx, c, run, state, queue.Finish)
		})
	}
	drain := work()
	q.want("error", queue.Ended, outcome.Error)
	q.want("failed", queue.Ended, outcome.Failed)
	drain()
	for id, want := range map[string]error{"failed": queue.ErrNoRetry, "waits": queue.ErrInQueue, "never": catalog.ErrNotFound} {
		if _, err := q.Retry(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("retry %s: %v, want %v", id, err, want)
		}
	}
	for _, id := range []string{"error", "canceled"} {
		const askers = 4
		got := make(chan error, askers)
		for range askers {
			go func() {
				_, err := q.Retry(context.WithoutCancel(t.Context()), id)
				got <- err
			}()
		}
		good := 0
		for range askers {
			switch err := <-got; {
			case err == nil:
				good++
			case !errors.Is(err, queue.ErrInQueue):
				t.Errorf("retry %s: %v", id, err)
			}
		}
		if good != 1 {
			t.Errorf("%d of %d who asked at once got a further attempt at %s", good, askers, id)
		}
	}
	again = true
	work()
	q.want("error", queue.Ended, outcome.Error, outcome.Complete)
	q.want("canceled", queue.Ended, outcome.Canceled, outcome.Complete)
}

// A retry and a cancellation at the same moment leave an analysis that will run, with its job, or one that will not, without a job.
func TestQueueRetryAndCancel(t *testing.T) {
	q := newQueued(t)
	q.submit("a")
	if _, err := q.Cancel(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	for range 10 {
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := q.Retry(ctx, "a"); err != nil && !errors.Is(err, queue.ErrInQueue) {
				t.Error(err)
			}
		})
		both.Go(func() {
			if _, err := q.Cancel(ctx, "a"); err != nil && !errors.Is(err, catalog.ErrEnded) {
				t.Error(err)
			}
		})
		both.Wait()
		e, err := q.Get(ctx, "a")
		if err != nil || (e.RunState == outcome.Queued) != (e.State == queue.Waiting) || e.RunState != outcome.Queued && e.RunState != outcome.Canceled {
			t.Fatalf("%+v, %v", e, err)
		}
	}
}

// While the queue is paused no worker takes a job, whether it was started before or after; running jobs go on.
func TestQueuePause(t *testing.T) {
	q := newQueued(t)
	paused := func(want bool) {
		t.Helper()
		if since, err := q.Paused(t.Context()); err != nil || (since != nil) != want {
			t.Errorf("paused since %v, want %v: %v", since, want, err)
		}
	}
	turn := func(turns ...func(context.Context) error) {
		t.Helper()
		for _, turn := range turns {
			if err := turn(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	paused(false)
	turn(q.Pause, q.Pause) // before any worker
	paused(true)
	let := make(chan bool)
	handle := func(ctx context.Context, c queue.Claim) error {
		run, err := began(ctx, c)
		if err == nil && run.ID == "runs" {
			<-let
		}
		if err != nil {
			return err
		}
		return over(ctx, c, run, outcome.Complete, queue.Finish)
	}
	q.work(handle)
	q.submit("runs")
	time.Sleep(1500 * time.Millisecond) // it would have polled
	q.want("runs", queue.Waiting, outcome.Queued)
	turn(q.Resume, q.Resume)
	paused(false)
	q.want("runs", queue.Running, outcome.Running)
	q.execute(`UPDATE scidex_oci.river_queue SET paused_at = now()`) // of which no worker is notified
	q.submit("waits")
	close(let)
	q.want("runs", queue.Ended, outcome.Complete)
	q.work(handle, "later", "default") // another one, of a class of its own too
	q.submit("late", func(s *queue.Submission) { s.Class = "later" })
	time.Sleep(1500 * time.Millisecond)
	for _, id := range []string{"waits", "late"} {
		q.want(id, queue.Waiting, outcome.Queued)
		if e, err := q.Get(t.Context(), id); err != nil || e.Why != "the queue is paused" {
			t.Errorf("%+v, %v", e, err)
		}
	}
	turn(q.Resume)
	q.want("waits", queue.Ended, outcome.Complete)
	q.want("late", queue.Ended, outcome.Complete)

	// A worker that was notified of a pause, and not of its end, finds out.
	turn(q.Pause)
	q.submit("unheard")
	time.Sleep(200 * time.Millisecond)
	q.want("unheard", queue.Waiting, outcome.Queued)
	q.execute(`UPDATE scidex_oci.river_queue SET paused_at = NULL`)
	q.want("unheard", queue.Ended, outcome.Complete)
}

// Workers are notified of jobs by NOTIFY; they also find a job whose notification they missed.
func TestQueueNotifications(t *testing.T) {
	q := newQueued(t)
	q.work(func(ctx context.Context, c queue.Claim) error {
		run, err := began(ctx, c)
		if err != nil {
			return err
		}
		return over(ctx, c, run, outcome.Complete, queue.Finish)
	})
	q.submit("first")
	q.want("first", queue.Ended, outcome.Complete)
	const jobs, poll = 20, 5 * time.Second // half of them would take more than half a poll, were they found by polling
	soon := 0
	for i := range jobs {
		id, start := fmt.Sprint("told-", i), time.Now()
		q.submit(id)
		q.want(id, queue.Ended, outcome.Complete)
		if time.Since(start) < poll/2 {
			soon++
		}
	}
	if soon < jobs*3/4 {
		t.Errorf("%d of %d jobs were found before half a poll", soon, jobs)
	}
	q.submit("later", func(s *queue.Submission) { s.After = 24 * time.Hour })
	q.execute(`UPDATE scidex_oci.river_job SET state = 'available', scheduled_at = now() WHERE state = 'scheduled'`) // of which no worker is notified
	q.want("later", queue.Ended, outcome.Complete)
}

// A worker takes jobs of its classes, by priority and then in their order, and none before its time.
func TestQueueOrder(t *testing.T) {
	q := newQueued(t)
	const soon = 1500 * time.Millisecond
	var submitted time.Time // soon
	for _, j := range []struct {
		id       string
		class    string
		priority int
		after    time.Duration
	}{
		{"last", "", 4, 0},
		{"first", "", 0, 0},
		{"second", "default", 1, 0},
		{"third", "", 2, 0},
		{"other", "gpu", 1, 0},
		{"soon", "", 1, soon},
		{"never", "", 1, 24 * time.Hour},
	} {
		if j.id == "soon" {
			submitted = time.Now()
		}
		q.submit(j.id, func(s *queue.Submission) { s.Class, s.Priority, s.After = j.class, j.priority, j.after })
	}
	q.submit("at", func(s *queue.Submission) { s.At = time.Now().Add(time.Hour) })
	q.submit("past", func(s *queue.Submission) { s.At = time.Now().Add(-time.Hour) })
	if e, err := q.Get(t.Context(), "other"); err != nil || e.Class != "gpu" || e.Why != `no worker of class "gpu" is known` {
		t.Errorf("%+v, %v", e, err)
	}
	taken := make(chan string, 20)
	one := make(chan bool, 1)
	handle := func(ctx context.Context, c queue.Claim) error {
		one <- true // of the two that a worker takes at once, one at a time
		defer func() { <-one }()
		run, _, err := c.PrepareRow(ctx)
		if err == nil {
			err = c.Begin(ctx, run)
		}
		if err != nil {
			return err
		}
		taken <- run.ID
		return over(ctx, c, run, outcome.Complete, queue.Finish)
	}
	q.work(handle)
	q.want("soon", queue.Ended, outcome.Complete)
	if took := time.Since(submitted); took < soon {
		t.Errorf("it was taken %v before its time", soon-took)
	}
	place := map[string]int{}
	for range 6 {
		if id := <-taken; id != "soon" { // which may come at any place on a slow machine
			place[id] = len(place)
		}
	}
	// Two are taken at once, so that the next one may overtake one.
	for want, id := range []string{"first", "second", "past", "third", "last"} {
		if got, ok := place[id]; !ok || got < want-1 || got > want+1 {
			t.Errorf("%s was not taken as number %d: %v", id, want, place)
		}
	}
	for _, id := range []string{"other", "never", "at"} {
		q.want(id, queue.Waiting, outcome.Queued)
	}
	q.work(handle, "gpu")
	q.want("other", queue.Ended, outcome.Complete)
	if e, err := q.Get(t.Context(), "never"); err != nil || e.NextAt == nil || time.Until(*e.NextAt) < 23*time.Hour {
		t.Errorf("%+v, %v", e, err)
	}
}

// Of equal submissions one is queued, however many come at once; one that has ended, or is canceled, does not count as equal.
func TestQueueUnique(t *testing.T) {
	q := newQueued(t)
	ctx := context.WithoutCancel(t.Context())
	asking := func(id, request string) queue.Submission {
		return queue.Submission{Unique: true, Run: catalog.Run{
			Key: catalog.Key{ID: id, Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Queued}, CreatedAt: time.Now(), Request: json.RawMessage(request),
		}}
	}
	const n = 8
	got := make(chan string, n)
	for i := range n {
		go func() {
			request := fmt.Sprintf(`{"command": ["true"], "id": "%d", "labels": {"n": "%d"}}`, i, i)
			if i%2 == 0 {
				request = `{"memory": "2GiB", "command": ["true"]}` // the default
			}
			other := asking(fmt.Sprintf("other-%d", i), fmt.Sprintf(`{"command": ["false", "%d"]}`, i%2))
			placed, err := q.Submit(ctx, []queue.Submission{asking(fmt.Sprint(i), request), other, asking(fmt.Sprintf("twin-%d", i), request)})
			if err != nil || len(placed) != 3 || placed[0].Key != placed[2].Key || !placed[2].Other {
				t.Errorf("%d: %+v, %v", i, placed, err)
				got <- ""
				return
			}
			got <- placed[0].Key.ID
		}()
	}
	id := <-got
	for range n - 1 {
		if other := <-got; other != id {
			t.Errorf("both %q and %q stand for the same", id, other)
		}
	}
	if all, err := q.List(ctx, true, 0); err != nil || len(all) != 3 {
		t.Errorf("%d in the queue, want 3: %v", len(all), err)
	}
	if _, err := q.Cancel(ctx, id); err != nil {
		t.Fatal(err)
	}
	placed, err := q.Submit(ctx, []queue.Submission{asking("next", `{"command": ["true"]}`)})
	if err != nil || placed[0].Other {
		t.Errorf("after the end of the first: %+v, %v", placed, err)
	}
	q.submit("alike") // without being asked for it does not matter
}

// A job that a worker returns costs no try, waits for longer each time, and shows why until another worker has it.
func TestQueueReturned(t *testing.T) {
	q := newQueued(t)
	q.submit("a", func(s *queue.Submission) { s.Require = map[string]string{"gpu": "a100"} })
	times := 0
	let := make(chan bool)
	q.work(func(ctx context.Context, c queue.Claim) error {
		job := c.Job()
		if job.Returned != min(times, 2) || job.Require["gpu"] != "a100" {
			t.Errorf("returned %d times, and the job says %+v", times, job)
		}
		if times++; times < 3 {
			return &queue.Later{After: 600 * time.Millisecond, Why: "no gpu " + fmt.Sprint(times)}
		}
		run, err := began(ctx, c)
		if err != nil {
			return err
		}
		<-let
		return over(ctx, c, run, outcome.Complete, queue.Finish)
	})
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		e, err := q.Get(t.Context(), "a")
		if err == nil && e.State == queue.Waiting && e.Why == "no gpu 2" && e.Tries == 0 && e.NextAt != nil {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	q.want("a", queue.Running, outcome.Running)
	if e, err := q.Get(t.Context(), "a"); err != nil || e.Why != "" {
		t.Errorf("%+v, %v", e, err)
	}
	close(let)
	q.want("a", queue.Ended, outcome.Complete)
}

// A job that cannot be read ends, with the row that waits for it; one without a row is canceled; one that a newer
// scidex-oci has written waits for a newer worker. None of them hides the others.
func TestQueueGarbage(t *testing.T) {
	q := newQueued(t)
	for _, id := range []string{"bad", "newer"} {
		q.execute(`INSERT INTO scidex_oci.analysis_run (id, attempt, state, created_at, request, host, boot_id, tool_version)
			VALUES ($1, 1, 'queued', now(), '{}', '', '', '')`, id)
	}
	for _, args := range []string{
		`{"v": 1, "id": "bad", "request": {}, "retries": "many", "require": "all"}`, `{"v": 2, "id": "newer", "request": {}}`,
		`{"v": 1, "id": "gone", "request": {}}`, `[]`, `{}`, `{"id": 7, "v": "x"}`,
		`{"v": 1, "id": "gone", "request": {}, "require": {"a": 1, "b": null}}`,
	} {
		q.execute(`INSERT INTO scidex_oci.river_job (kind, queue, max_attempts, args) VALUES ('scidex_analysis', 'analyses', 25, $1::jsonb)`, args)
	}
	if all, err := q.List(t.Context(), false, 0); err != nil || len(all) != 7 {
		t.Errorf("%d jobs before any worker, %v", len(all), err)
	}
	q.work(func(ctx context.Context, c queue.Claim) error {
		_, err := began(ctx, c)
		return err
	})
	q.want("bad", queue.Ended, outcome.Error)
	if key, err := q.Retry(t.Context(), "bad"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("retried as %v: %v", key, err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		open, err := q.List(t.Context(), false, 0)
		if err == nil && len(open) == 1 && open[0].ID == "newer" && strings.Contains(open[0].Why, "version 2") && open[0].RunState == outcome.Queued {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", open, err)
		}
	}
	if all, err := q.List(t.Context(), true, 0); err != nil || len(all) != 7 {
		t.Errorf("%d jobs, %v", len(all), err)
	}
}

// The jobs of a dead worker go to another worker at once, even those that it had not started. A job that was canceled in
// between ends, and goes to nobody.
func TestQueueRescued(t *testing.T) {
	q := newQueued(t)
	ids := []string{"started", "taken", "canceled"}
	for _, id := range ids {
		q.submit(id)
	}
	die := make(chan error)
	q.work(func(ctx context.Context, c queue.Claim) error {
		if c.Job().ID != "taken" {
			if _, err := began(ctx, c); err != nil {
				t.Error(err)
			}
		}
		return <-die
	})
	q.want("started", queue.Running, outcome.Running)
	q.want("taken", queue.Running, outcome.Queued)
	again := make(chan string, len(ids))
	q.work(func(ctx context.Context, c queue.Claim) error {
		run, err := began(ctx, c)
		if errors.Is(err, queue.ErrDone) {
			return nil
		}
		again <- run.ID
		return errors.Join(err, over(ctx, c, run, outcome.Complete, queue.Finish))
	}, "other")
	e, err := q.Get(t.Context(), "started")
	if err != nil {
		t.Fatal(err)
	}
	die <- queue.ErrOpen // one place is free for the third
	q.want("canceled", queue.Running, outcome.Running)
	if _, err := q.Cancel(t.Context(), "canceled"); err != nil {
		t.Fatal(err)
	}
	q.execute(`UPDATE scidex_oci.river_job SET queue = 'analyses-other'`) // for the other
	if n, err := q.Rescue(t.Context(), "host/1/none"); n != 0 || !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("rescued %d of nobody: %v", n, err)
	}
	if n, err := q.Rescue(t.Context(), e.Worker); n != 3 || err != nil {
		t.Errorf("rescued %d, want 3: %v", n, err)
	}
	q.want("taken", queue.Ended, outcome.Complete)
	q.want("started", queue.Ended, outcome.Lost, outcome.Complete)
	q.want("canceled", queue.Ended, outcome.Canceled)
	if e, err := q.Get(t.Context(), "started"); err != nil || e.Tries != 2 || len(e.Errors) != 1 || !strings.Contains(e.Errors[0], "is dead") {
		t.Errorf("%+v, %v", e, err)
	}
	close(die)
	time.Sleep(300 * time.Millisecond) // the dead one writes nothing of them
	for _, id := range ids {
		if e, err := q.Get(t.Context(), id); err != nil || e.State != queue.Ended {
			t.Errorf("%s: %+v, %v", id, e, err)
		}
	}
}
