package recovery

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// ledger is a catalog that only lists its runs, the newest first.
type ledger struct {
	catalog.Catalog
	runs []catalog.Run
}

func (l *ledger) List(_ context.Context, filter catalog.Filter) ([]catalog.Run, error) {
	rest := l.runs
	if filter.After.ID != "" {
		rest = rest[slices.IndexFunc(rest, func(run catalog.Run) bool { return run.Key == filter.After.Key })+1:]
	}
	return rest[:min(len(rest), filter.Limit)], nil
}

// Every run is seen once and in order, also those of one millisecond.
func TestEachRun(t *testing.T) {
	for _, runs := range []int{0, 1, pageRuns - 1, pageRuns, pageRuns + 1, 3 * pageRuns} {
		l := &ledger{}
		for i := range runs {
			l.runs = append(l.runs, catalog.Run{Key: catalog.Key{ID: fmt.Sprint(i), Attempt: 1}, CreatedAt: time.Unix(1, 0)})
		}
		next := 0
		err := eachRun(t.Context(), l, catalog.Filter{}, func(run catalog.Run) error {
			if run.ID != fmt.Sprint(next) {
				return fmt.Errorf("run %s comes where %d is awaited", run.ID, next)
			}
			next++
			return nil
		})
		if err != nil || next != runs {
			t.Errorf("%d of %d runs seen, %v", next, runs, err)
		}
	}
}

func TestRetentionCovers(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	ended := catalog.Run{Outcome: outcome.Outcome{State: outcome.Complete}, CreatedAt: now.Add(-2 * time.Hour), FinishedAt: now.Add(-time.Hour), OutputsTotal: 1}
	with := func(change func(*catalog.Run)) catalog.Run {
		run := ended
		change(&run)
		return run
	}
	for _, tt := range []struct {
		name string
		r    Retention
		run  catalog.Run
		want bool
	}{
		{"any", Retention{}, ended, true},
		{"older", Retention{Before: now.Add(-time.Minute)}, ended, true},
		{"as old", Retention{Before: ended.FinishedAt}, ended, false},
		{"started before and ended after", Retention{Before: now.Add(-90 * time.Minute)}, ended, false},
		{"no end known", Retention{Before: now.Add(-90 * time.Minute)}, with(func(r *catalog.Run) { r.FinishedAt = time.Time{} }), true},
		{"pinned", Retention{}, with(func(r *catalog.Run) { r.Pinned = true }), false},
		{"running", Retention{}, with(func(r *catalog.Run) { r.State = outcome.Running }), false},
		{"queued", Retention{}, with(func(r *catalog.Run) { r.State = outcome.Queued }), false},
		{"outputs", Retention{OutputsOnly: true}, ended, true},
		{"no outputs", Retention{OutputsOnly: true}, with(func(r *catalog.Run) { r.OutputsTotal = 0 }), false},
		{"outputs removed", Retention{OutputsOnly: true}, with(func(r *catalog.Run) { r.OutputsRemovedAt = now }), false},
		{"a run without its outputs", Retention{}, with(func(r *catalog.Run) { r.OutputsRemovedAt = now }), true},
	} {
		if got := tt.r.covers(tt.run); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
