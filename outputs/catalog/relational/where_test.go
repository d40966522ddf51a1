package relational_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

func TestWhere(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	tests := []struct {
		name   string
		filter catalog.Filter
		want   string
		args   []any
	}{
		{"nothing", catalog.Filter{Labels: map[string]string{"k": "v"}, Limit: 3}, "", nil},
		{
			"times",
			catalog.Filter{Since: at, Until: at.Add(time.Hour)},
			" WHERE created_at >= $1 AND created_at < $2",
			[]any{at.Unix(), at.Add(time.Hour).Unix()},
		},
		{"names", catalog.Filter{Host: "h", ID: "a"}, " WHERE host = $1 AND id = $2", []any{"h", "a"}},
		{
			"sets",
			catalog.Filter{States: []outcome.State{"failed", "lost"}, Reasons: []outcome.Reason{"exit"}},
			" WHERE state IN ($1, $2) AND reason IN ($3)",
			[]any{"failed", "lost", "exit"},
		},
		{
			"what has not ended",
			catalog.Filter{States: []outcome.State{outcome.Running}},
			" WHERE state IN ($1) AND state IN ('queued', 'running')",
			[]any{"running"},
		},
		{
			"what may have ended",
			catalog.Filter{States: []outcome.State{outcome.Running, outcome.Lost}},
			" WHERE state IN ($1, $2)",
			[]any{"running", "lost"},
		},
		{
			"one other than complete",
			catalog.Filter{States: []outcome.State{outcome.Lost}, Since: at},
			" WHERE created_at >= $1 AND state IN ($2) AND state IN ('failed', 'canceled', 'error', 'lost')",
			[]any{at.Unix(), "lost"},
		},
		{"complete", catalog.Filter{States: []outcome.State{outcome.Complete}}, " WHERE state IN ($1)", []any{"complete"}},
		{
			"of an id",
			catalog.Filter{States: []outcome.State{outcome.Lost}, ID: "a"},
			" WHERE id = $1 AND state IN ($2)",
			[]any{"a", "lost"},
		},
		{
			"with a label",
			catalog.Filter{States: []outcome.State{outcome.Lost}, Labels: map[string]string{"k": "v"}},
			" WHERE state IN ($1)",
			[]any{"lost"},
		},
		{"a text of the id or of what ran", catalog.Filter{Text: "a%"}, " WHERE has(id, $1) OR has(ran, $2)", []any{"a%", "a%"}},
		{
			"after a run",
			catalog.Filter{After: catalog.Mark{CreatedAt: at, Key: catalog.Key{ID: "a", Attempt: 2}}},
			" WHERE (created_at, id, attempt) < ($1, $2, $3)",
			[]any{at.Unix(), "a", 2},
		},
		{"a string that is in no row", catalog.Filter{ID: "unheld", Host: "h"}, " WHERE host = $1 AND 1 = 0", []any{"h"}},
		{"one of two that is in no row", catalog.Filter{Reasons: []outcome.Reason{"unheld", "exit"}}, " WHERE reason IN ($1)", []any{"exit"}},
		{"a set of which none is in a row", catalog.Filter{Reasons: []outcome.Reason{"unheld"}}, " WHERE 1 = 0", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			where := &relational.Where{
				Moment:   func(t time.Time) any { return t.Unix() },
				Holds:    func(s string) bool { return s != "unheld" },
				Contains: "has(id, %s) OR has(ran, %s)",
			}
			where.Runs(tt.filter)
			if got := where.String(); got != tt.want || !reflect.DeepEqual(where.Args, tt.args) {
				t.Errorf("%q with %v, want %q with %v", got, where.Args, tt.want, tt.args)
			}
		})
	}
}
