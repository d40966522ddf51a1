package watch

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/sqlite"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// Each gives every run once, whatever the size of a page.
func TestEach(t *testing.T) {
	const runs = eachPage*2 + 1
	cat, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	for i := range runs {
		run := catalog.Run{Key: catalog.Key{ID: fmt.Sprintf("r%04d", i), Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: time.Unix(int64(i/7), 0).UTC()}
		if err := cat.Create(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		if run.State = outcome.Complete; i%2 == 0 {
			run.State = outcome.Failed
		}
		if err := cat.Commit(t.Context(), run, func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }); err != nil {
			t.Fatal(err)
		}
	}
	host := &phase.Host{Catalog: cat, Root: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	for _, tt := range []struct {
		filter      catalog.Filter
		until, want int
	}{
		{catalog.Filter{}, runs, runs},
		{catalog.Filter{Limit: eachPage + 1}, runs, eachPage + 1},
		{catalog.Filter{Limit: eachPage}, runs, eachPage},
		{catalog.Filter{States: []outcome.State{outcome.Complete}}, runs, runs / 2},
		{catalog.Filter{States: []outcome.State{outcome.Failed}, Limit: 3}, runs, 3},
		{catalog.Filter{}, 2, 2},
	} {
		seen, last := map[string]bool{}, "s"
		err := Each(t.Context(), host, tt.filter, func(run catalog.Run) bool {
			if seen[run.ID] || run.ID > last {
				t.Errorf("%s after %s", run.ID, last)
			}
			seen[run.ID], last = true, run.ID
			return len(seen) < tt.until
		})
		if err != nil || len(seen) != tt.want {
			t.Errorf("%+v: %d runs, %v, want %d", tt.filter, len(seen), err, tt.want)
		}
	}
}
