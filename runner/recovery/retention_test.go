package recovery

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// ledger is a catalog of which only List is asked: the runs of it, the newest first.
type ledger struct {
	catalog.Catalog
	runs []catalog.Run
	most int // rows of one answer
}

func (l *ledger) List(_ context.Context, filter catalog.Filter) (some []catalog.Run, err error) {
	for _, run := range l.runs {
		if (filter.Until.IsZero() || run.CreatedAt.Before(filter.Until)) && len(some) < filter.Limit {
			some = append(some, run)
		}
	}
	l.most = max(l.most, len(some))
	return some, nil
}

// Every run is seen once and in order, however many are of one millisecond, and never all of many at a time.
func TestEachRun(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, tt := range []struct{ runs, together, most int }{
		{0, 1, 0},
		{1, 1, 1},
		{499, 1, 499},
		{500, 1, 500},
		{501, 1, 500},
		{5000, 1, 500},
		{1500, 7, 500},
		{1500, 500, 1000},
		{1500, 501, 1000},
		{1500, 1500, 2000},
		{3000, 1500, 2000},
	} {
		l := &ledger{}
		for i := range tt.runs {
			at := start.Add(-time.Duration(i/tt.together) * time.Millisecond)
			l.runs = append(l.runs, catalog.Run{Key: catalog.Key{ID: fmt.Sprint(i), Attempt: 1}, CreatedAt: at})
		}
		next := 0
		err := eachRun(t.Context(), l, catalog.Filter{}, func(run catalog.Run) error {
			if run.ID != fmt.Sprint(next) {
				return fmt.Errorf("run %s comes where %d is awaited", run.ID, next)
			}
			next++
			return nil
		})
		if err != nil || next != tt.runs || l.most > tt.most {
			t.Errorf("%+v: %d runs seen, %d at a time, %v", tt, next, l.most, err)
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
