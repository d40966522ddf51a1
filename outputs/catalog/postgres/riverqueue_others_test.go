package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// hands has a claim that a worker gave to the test. What the test sends to end ends the job's handler.
type hands struct {
	ctx   context.Context
	claim queue.Claim
	end   chan error
}

// inHand starts a worker that gives each claim to the test.
func (q *queued) inHand() <-chan hands {
	q.Helper()
	taken := make(chan hands, 4)
	q.work(func(ctx context.Context, c queue.Claim) error {
		h := hands{context.WithoutCancel(ctx), c, make(chan error, 1)}
		taken <- h
		select {
		case err := <-h.end:
			return err
		case <-ctx.Done():
			return queue.ErrOpen
		}
	})
	return taken
}

// A worker that does not get a run, or is refused before, does not end the run of the worker that has it.
func TestQueueSecondWorker(t *testing.T) {
	for _, tries := range []bool{false, true} {
		t.Run(fmt.Sprintf("tries %v", tries), func(t *testing.T) {
			q := newQueued(t)
			q.submit("a")
			taken := q.inHand()
			loser := <-taken
			row, _, err := loser.claim.PrepareRow(loser.ctx)
			if err != nil {
				t.Fatal(err)
			}
			q.execute(`UPDATE scidex_oci.river_job SET state = 'available'`) // as River's rescuer does
			winner := <-taken
			won, err := began(winner.ctx, winner.claim)
			if err != nil {
				t.Fatal(err)
			}
			if tries {
				if err := loser.claim.Begin(loser.ctx, row); !errors.Is(err, catalog.ErrExists) {
					t.Errorf("it has started too: %v", err)
				}
			}
			if err := over(loser.ctx, loser.claim, row, outcome.Error, queue.Requeue); !errors.Is(err, catalog.ErrEnded) {
				t.Errorf("the loser has ended it: %v", err)
			}
			q.want("a", queue.Running, outcome.Running)
			err = over(winner.ctx, winner.claim, won, outcome.Complete, queue.Finish)
			winner.end <- err
			if err != nil {
				t.Errorf("the winner could not commit: %v", err)
			}
			loser.end <- queue.ErrOpen
			q.want("a", queue.Ended, outcome.Complete)
		})
	}
}

// While a job of an analysis is open, the analysis gets no second job; once the first is canceled, it does.
func TestQueueOneJob(t *testing.T) {
	q := newQueued(t)
	s := q.submit("a")
	taken := q.inHand()
	one := <-taken
	run, err := began(one.ctx, one.claim)
	if err != nil {
		t.Fatal(err)
	}
	run.State, run.Reason, run.FinishedAt = outcome.Error, "host", time.Now()
	if err := q.catalog.Commit(t.Context(), run, func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }); err != nil { // as recovery does
		t.Fatal(err)
	}
	s.Run.Attempt = 2
	if _, err := q.Submit(t.Context(), []queue.Submission{s}); err == nil || !strings.Contains(err.Error(), "queue cancel a") {
		t.Errorf("submitted beside its job: %v", err)
	}
	said := q.raised(`SELECT scidex_oci.submit('{"id": "a", "command": ["true"]}')`)
	if !strings.Contains(said, "its job is in the queue still") {
		t.Errorf("enqueued beside its job: %s", said)
	}
	q.want("a", queue.Running, outcome.Error)
	if _, err := q.Cancel(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	q.execute(`UPDATE scidex_oci.river_job SET state = 'cancelled', finalized_at = now()`) // as River does when its worker returns
	q.submit("a", func(s *queue.Submission) { s.Run.Attempt = 2 })
	one.end <- queue.ErrOpen
}

// raised is the database's error for a statement of the role of runs.
func (q *queued) raised(sql string) string {
	q.Helper()
	err := q.catalog.Within(q.Context(), func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql)
		return err
	})
	if err == nil {
		q.Errorf("%s is not refused", sql)
		return ""
	}
	return err.Error()
}

// An attempt that does not belong to the job is not changed, and the job is finished.
func TestQueueAttemptOfAnother(t *testing.T) {
	q := newQueued(t)
	q.submit("a")
	taken := q.inHand()
	one := <-taken
	run, err := began(one.ctx, one.claim)
	if err != nil {
		t.Fatal(err)
	}
	if err := over(one.ctx, one.claim, run, outcome.Error, queue.Requeue); err != nil {
		t.Fatal(err)
	}
	one.end <- errors.New("no disk")
	two := <-taken
	if run, err = began(two.ctx, two.claim); err != nil || run.Attempt != 2 {
		t.Fatalf("attempt %d, %v", run.Attempt, err)
	}
	run.State, run.Reason, run.FinishedAt = outcome.Lost, "supervisor_lost", time.Now()
	if err := q.catalog.Commit(t.Context(), run, func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }); err != nil {
		t.Fatal(err)
	}
	q.execute(`INSERT INTO scidex_oci.analysis_run (id, attempt, state, created_at, request, host, boot_id, tool_version)
		VALUES ('a', 3, 'running', now(), '{}', 'here', '', '')`) // run --again
	two.end <- errors.New("lost")
	three := <-taken
	if _, _, err := three.claim.PrepareRow(three.ctx); !errors.Is(err, queue.ErrDone) {
		t.Errorf("prepared: %v", err)
	}
	three.end <- nil
	q.want("a", queue.Ended, outcome.Error, outcome.Lost, outcome.Running)
}

// Errors that were committed without the job are counted like others.
func TestQueueRetriesOfRecovery(t *testing.T) {
	q := newQueued(t)
	q.submit("a") // with one retry
	taken := q.inHand()
	for attempt := range 2 {
		one := <-taken
		run, err := began(one.ctx, one.claim)
		if err != nil {
			t.Fatalf("attempt %d: %v", attempt+1, err)
		}
		run.State, run.Reason, run.FinishedAt = outcome.Error, "host", time.Now()
		if err := q.catalog.Commit(t.Context(), run, func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }); err != nil {
			t.Fatal(err)
		}
		one.end <- errors.New("its worker was killed")
	}
	last := <-taken
	if _, _, err := last.claim.PrepareRow(last.ctx); !errors.Is(err, queue.ErrDone) {
		t.Errorf("prepared: %v", err)
	}
	last.end <- nil
	q.want("a", queue.Ended, outcome.Error, outcome.Error)
}

// A row whose job River has discarded ends, and may be queued again; the row of a later job still waits.
func TestQueueDiscarded(t *testing.T) {
	q := newQueued(t)
	for _, id := range []string{"a", "b"} {
		q.submit(id)
	}
	q.execute(`UPDATE scidex_oci.river_job SET state = 'discarded', attempt = 25, finalized_at = now()`)
	q.execute(`INSERT INTO scidex_oci.river_job (kind, queue, max_attempts, args, state, scheduled_at)
		SELECT kind, queue, 25, args, 'scheduled', now() + interval '1h' FROM scidex_oci.river_job WHERE args ->> 'id' = 'b'`)
	if _, err := q.Retry(t.Context(), "a"); !errors.Is(err, queue.ErrInQueue) || !strings.Contains(err.Error(), "queue cancel a") {
		t.Errorf("there is no way out named: %v", err)
	}
	q.inHand()
	q.want("a", queue.Ended, outcome.Lost)
	q.want("b", queue.Waiting, outcome.Queued)
	if _, err := q.Retry(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}
