package worker

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// brought is a claim of which only the job is asked.
type brought struct {
	queue.Claim
	job queue.Job
}

func (b brought) Job() queue.Job { return b.job }

// Only what is no fault of the analysis comes again, and nothing that somebody has canceled.
func TestThen(t *testing.T) {
	for _, c := range []struct {
		state    outcome.State
		cause    error
		asked    bool
		failures int
		last     bool
		want     queue.Then
	}{
		{state: outcome.Complete, want: queue.Finish},
		{state: outcome.Complete, cause: queue.ErrDrained, want: queue.Finish},
		{state: outcome.Failed, want: queue.Finish},
		{state: outcome.Failed, cause: queue.ErrDrained, want: queue.Finish},
		{state: outcome.Error, want: queue.Requeue},
		{state: outcome.Error, failures: 1, want: queue.Requeue},
		{state: outcome.Error, failures: 2, want: queue.Finish},
		{state: outcome.Error, last: true, want: queue.Finish},
		{state: outcome.Error, cause: queue.ErrCanceled, want: queue.Finish},
		{state: outcome.Lost, want: queue.Requeue},
		{state: outcome.Canceled, asked: true, want: queue.Finish},
		{state: outcome.Canceled, asked: true, cause: queue.ErrDrained, want: queue.Finish},
		{state: outcome.Error, asked: true, want: queue.Finish},
		{state: outcome.Canceled, cause: queue.ErrCanceled, want: queue.Finish},
		{state: outcome.Canceled, cause: queue.ErrDrained, want: queue.Requeue},
		{state: outcome.Canceled, cause: queue.ErrDrained, last: true, want: queue.Requeue}, // the try does not count
		{state: outcome.Canceled, cause: queue.ErrOverdue, want: queue.Requeue},
		{state: outcome.Canceled, cause: queue.ErrOverdue, last: true, want: queue.Finish},
	} {
		w := &Worker{}
		run := w.runs.Add("id")
		w.runs.Address(func(string) []int64 { return map[bool][]int64{true: {7}}[c.asked] }, request.StopSignal{Name: "SIGTERM"})
		j := &job{Worker: w, Run: run, cause: func() error { return c.cause }, ledger: &ledger{claim: brought{job: queue.Job{Retries: 2, LastTry: c.last}}}}
		if got := j.then(catalog.Run{Outcome: outcome.Outcome{State: c.state}}, c.failures); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
