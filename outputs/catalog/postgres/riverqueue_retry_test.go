package postgres_test

import (
	"context"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// Retry submits the further attempt like the first one: with its class, priority and arguments.
func TestQueueRetryKeeps(t *testing.T) {
	q := newQueued(t)
	const retries = 7
	q.submit("a", func(s *queue.Submission) {
		s.Class, s.Priority, s.Retries, s.NoAudit, s.Require = "gpu", 3, retries, true, map[string]string{"gpu": "a100"}
	})
	if _, err := q.Cancel(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	before, err := q.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if key, err := q.Retry(t.Context(), "a"); err != nil || key.Attempt != 2 {
		t.Fatalf("%+v, %v", key, err)
	}
	after, err := q.Get(t.Context(), "a")
	if err != nil || after.Job == before.Job || after.Attempt != 2 {
		t.Fatalf("%+v, %v", after, err)
	}
	if after.Class != "gpu" || after.Priority != 3 || after.Require["gpu"] != "a100" {
		t.Errorf("its job is %+v; before it was %+v", after, before)
	}
	q.work(func(ctx context.Context, c queue.Claim) error {
		if job := c.Job(); job.Retries != retries || !job.NoAudit {
			t.Errorf("the worker has %+v", job)
		}
		run, err := began(ctx, c)
		if err != nil {
			return err
		}
		return over(ctx, c, run, outcome.Complete, queue.Finish)
	}, "gpu")
	q.want("a", queue.Ended, outcome.Canceled, outcome.Complete)
}
