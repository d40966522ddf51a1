package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// TestQueueMovedWhileItEnds: if another transaction moves a job while River writes its end, the worker goes on. River
// alone panics, and the worker dies with all its runs.
func TestQueueMovedWhileItEnds(t *testing.T) {
	q := newQueued(t)
	started, release := make(chan struct{}, 1), make(chan struct{})
	q.submit("a")
	q.work(func(ctx context.Context, c queue.Claim) error {
		run, err := began(ctx, c)
		if err != nil || run.ID != "a" {
			return errors.Join(err, over(ctx, c, run, outcome.Complete, queue.Finish))
		}
		started <- struct{}{}
		<-release
		return errors.New("failed")
	})
	<-started
	other, err := pgx.Connect(t.Context(), q.url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.WithoutCancel(t.Context()))
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if err := tx.QueryRow(t.Context(), `UPDATE scidex_oci.river_job SET state = 'discarded', finalized_at = now() RETURNING pg_backend_pid()`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	close(release)
	for blocked := false; !blocked; time.Sleep(10 * time.Millisecond) { // River, which writes the end
		if err := tx.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND $1 = ANY(pg_blocking_pids(pid)))`, pid).Scan(&blocked); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	q.submit("b") // written by the same part of River, after the other
	q.want("b", queue.Ended, outcome.Complete)
}
