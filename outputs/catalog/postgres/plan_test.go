package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// plan is how PostgreSQL answers a query (EXPLAIN), a line for each step.
func plan(t *testing.T, c *Catalog, sql string, args []any) string {
	t.Helper()
	var steps []string
	must(t, database{c}.Query(t.Context(), func(row relational.Row) (bool, error) {
		var step string
		err := row.Scan(&step)
		steps = append(steps, step)
		return true, err
	}, `EXPLAIN (COSTS OFF) `+sql, args...))
	return strings.Join(steps, "\n")
}

// watched also keeps the last query.
type watched struct {
	database
	sql  string
	args []any
}

func (w *watched) Query(ctx context.Context, yield func(relational.Row) (bool, error), sql string, args ...any) error {
	w.sql, w.args = sql, args
	return w.database.Query(ctx, yield, sql, args...)
}

// A listing that needs few runs does not read more of them if there are many: of many, of which one in ten has failed
// and hardly any has ended otherwise, the newest fifty are read by an index that has them in their order.
func TestListingPlans(t *testing.T) {
	server := theCluster(t)
	name := migrated(t, server)
	server.execute(t, name, `INSERT INTO scidex_oci.analysis_run (id, attempt, state, created_at, host, boot_id, tool_version, report)
		SELECT 'run-' || i, 1, CASE WHEN i % 5000 = 4 THEN 'error' WHEN i % 10 = 9 THEN 'failed' ELSE 'complete' END,
			'2026-01-01'::timestamptz + i * interval '30 s', 'h', '', '', json_build_object('x', repeat('x', 500))
		FROM generate_series(1, 20000) i`)
	server.execute(t, name, `ANALYZE scidex_oci.analysis_run`)
	c := opened(t, server.url("runner", name))
	of := func(states ...outcome.State) catalog.Filter { return catalog.Filter{States: states, Limit: 50} }
	since := of(outcome.Failed)
	since.Since = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	const byTime, byState = "Backward using analysis_run_created", "Backward using analysis_run_state"
	tests := []struct {
		name, want string
		filter     catalog.Filter
	}{
		{"the newest", byTime, catalog.Filter{Limit: 50}},
		{"complete", byTime, of(outcome.Complete)},
		{"a state that none has", byState, of(outcome.Lost)},
		{"one that some have", byState, of(outcome.Failed)},
		{"one that some have, since then", byState, since},
		{"several", byTime, of(outcome.Failed, outcome.Error)},
		{"all that have ended", byTime, of(outcome.Complete, outcome.Failed, outcome.Canceled, outcome.Error, outcome.Lost)},
		{"an action", "Backward using analysis_run_action", catalog.Filter{ActionID: "a", States: []outcome.State{outcome.Complete}, Limit: 10}},
		{"what has not ended", "analysis_run_open", of(outcome.Queued, outcome.Running)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := &watched{database: database{c}}
			_, err := relational.New(asked, dialect).List(t.Context(), tt.filter)
			must(t, err)
			got := plan(t, c, asked.sql, asked.args)
			if sorted := strings.Contains(got, "Sort") && tt.want != "analysis_run_open"; !strings.Contains(got, tt.want) || sorted {
				t.Errorf("want %q and no sort in the plan:\n%s", tt.want, got)
			}
		})
	}
}

// Whatever stats needs of a million runs, it reads none of their documents.
func TestUsagePlans(t *testing.T) {
	server := theCluster(t)
	name := migrated(t, server)
	server.execute(t, name, `INSERT INTO scidex_oci.analysis_run (id, attempt, state, created_at, host, boot_id, tool_version, report)
		SELECT 'run-' || i, 1, 'complete', '2026-01-01'::timestamptz + i * interval '30 s', 'h', '', '', json_build_object('x', repeat('x', 500))
		FROM generate_series(1, 20000) i`)
	server.execute(t, name, `VACUUM ANALYZE scidex_oci.analysis_run`)
	c := opened(t, server.url("runner", name))
	since := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for _, filter := range []catalog.Filter{
		{}, {Since: since, Until: since.Add(time.Hour)}, {States: []outcome.State{outcome.Complete}}, {Reasons: []outcome.Reason{"exit"}, Host: "h"},
	} {
		for _, label := range []string{"", "project"} {
			sql, args, err := c.usageQuery(t.Context(), filter, label)
			must(t, err)
			if got := plan(t, c, sql, args); !strings.Contains(got, "Index Only Scan using analysis_run_usage") {
				t.Errorf("%+v by label %q:\n%s", filter, label, got)
			}
		}
	}
}
