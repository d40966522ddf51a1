package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// plan is how SQLite answers a query (sqlite.org/eqp.html), a line for each step.
func plan(t *testing.T, c *Catalog, query string, args ...any) string {
	t.Helper()
	rows, err := c.db.QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+query, args...)
	must(t, err)
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		must(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	must(t, rows.Err())
	return strings.Join(steps, "\n")
}

// watched also keeps the last query.
type watched struct {
	database
	text string
	args []any
}

func (w *watched) Query(ctx context.Context, yield func(relational.Row) (bool, error), text string, args ...any) error {
	w.text, w.args = text, args
	return w.database.Query(ctx, yield, text, args...)
}

func (w *watched) Read(_ context.Context, do func(from relational.Reader) error) error { return do(w) }

// planOf is the plan of the last query of a call.
func planOf(t *testing.T, c *Catalog, call func(c relational.Catalog) error) string {
	t.Helper()
	w := &watched{database: database{c}}
	must(t, call(relational.New(w, dialect)))
	return plan(t, c, inSQLite(w.text), w.args...)
}

// Every form of a name is found through an index.
func TestQueryPlans(t *testing.T) {
	c := opened(t, filepath.Join(t.TempDir(), "catalog.db"))
	must(t, c.Create(t.Context(), sample("a")))
	ctx, key := t.Context(), catalog.Key{ID: "a", Attempt: 1}
	found := func(query catalog.OutputQuery) func(relational.Catalog) error {
		return func(c relational.Catalog) error { return c.FindOutputs(ctx, query, nil) }
	}
	tests := []struct {
		name  string
		call  func(relational.Catalog) error
		want  string
		never string
	}{
		{"newest", func(c relational.Catalog) error { _, err := c.Find(ctx, "@last"); return err }, "analysis_run_created", "B-TREE"},
		{"entries", func(c relational.Catalog) error { return c.Outputs(ctx, key, nil) }, "PRIMARY KEY", "B-TREE"},
		{"find outputs", found(catalog.OutputQuery{}), "analysis_run_created", "B-TREE FOR ORDER BY"},
		{"find outputs of a digest", found(catalog.OutputQuery{Digest: "a"}), "analysis_output_sha256", "SCAN"},
		{"events", func(c relational.Catalog) error { _, err := c.Events(ctx, key); return err }, "sandbox_audit_event_run", "B-TREE"},
		{"selftests", func(c relational.Catalog) error { _, err := c.Selftests(ctx, 0); return err }, "selftest_report_ts", "B-TREE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := planOf(t, c, tt.call); !strings.Contains(got, tt.want) || strings.Contains(got, tt.never) {
				t.Errorf("want %q and no %q in the plan:\n%s", tt.want, tt.never, got)
			}
		})
	}
	for query, want := range map[string]string{
		`SELECT DISTINCT id FROM analysis_run WHERE id >= 'a' AND id < 'b' ORDER BY id`: "id>? AND id<?",
		`SELECT id FROM analysis_output WHERE sha256 = 'x'`:                             "analysis_output_sha256",
	} {
		if got := plan(t, c, query); !strings.Contains(got, want) || strings.Contains(got, "B-TREE") {
			t.Errorf("%s: want %q and no sort in the plan:\n%s", query, want, got)
		}
	}
}

// labelled writes as many runs with each label as counts says, by SQL and not by the catalog.
func labelled(t *testing.T, path string, counts map[string]int) {
	t.Helper()
	for key, count := range counts {
		execute(t, path, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO analysis_run (id, attempt, state, created_at, host, boot_id, tool_version)
			SELECT '%s-' || i, 1, 'lost', '2026-03-04T05:06:07.000Z', '', '', '' FROM n`, count, key))
		execute(t, path, fmt.Sprintf(`INSERT INTO run_label SELECT id, 1, '%s', 'v' FROM analysis_run WHERE id LIKE '%s-%%'`, key, key))
	}
}

// A listing that needs few runs does not read more of them if there are many: SQLite's plans depend only on the schema
// and the query, as long as nobody runs ANALYZE.
func TestListingPlans(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	c := opened(t, path)
	labelled(t, path, map[string]int{"rare": few, "common": few + 1})
	const sorted = "USE TEMP B-TREE FOR ORDER BY"
	page := catalog.Mark{CreatedAt: time.Now(), Key: catalog.Key{ID: "a", Attempt: 1}}
	tests := []struct {
		name        string
		filter      catalog.Filter
		want, never string
	}{
		{"the newest", catalog.Filter{Limit: 50}, "SCAN r USING INDEX analysis_run_created", sorted},
		{"what has not ended", catalog.Filter{States: []outcome.State{outcome.Running, outcome.Queued}, Host: "h"}, "SCAN r USING INDEX analysis_run_open", sorted},
		{"a rare label", catalog.Filter{Labels: map[string]string{"rare": "v"}}, "SEARCH r USING INDEX sqlite_autoindex_analysis_run_1 (id=? AND attempt=?)", "analysis_run_created"},
		{"a common label", catalog.Filter{Labels: map[string]string{"common": "v"}, Limit: 50}, "SCAN r USING INDEX analysis_run_created", sorted},
		{"both", catalog.Filter{Labels: map[string]string{"common": "v", "rare": "v"}}, "SEARCH r USING INDEX sqlite_autoindex_analysis_run_1 (id=? AND attempt=?)", "analysis_run_created"},
		{"one state", catalog.Filter{States: []outcome.State{outcome.Lost}, Since: time.Now(), Limit: 50}, "SEARCH r USING INDEX analysis_run_state (state=? AND created_at>?)", sorted},
		{"several states", catalog.Filter{States: []outcome.State{outcome.Lost, outcome.Error}, Limit: 50}, "SCAN r USING INDEX analysis_run_created", sorted},
		{"complete", catalog.Filter{States: []outcome.State{outcome.Complete}, Limit: 50}, "SCAN r USING INDEX analysis_run_created", sorted},
		{"one state of an id", catalog.Filter{States: []outcome.State{outcome.Lost}, ID: "a"}, "SEARCH r USING INDEX sqlite_autoindex_analysis_run_1 (id=?)", "analysis_run_state"},
		{"one state with a rare label", catalog.Filter{States: []outcome.State{outcome.Lost}, Labels: map[string]string{"rare": "v"}}, "SEARCH r USING INDEX sqlite_autoindex_analysis_run_1 (id=? AND attempt=?)", "analysis_run_state"},
		{"an action", catalog.Filter{ActionID: "a", States: []outcome.State{outcome.Complete}, Limit: 10}, "SEARCH r USING INDEX analysis_run_action (<expr>=?)", sorted},
		{"a page", catalog.Filter{After: page, Limit: 50}, "SEARCH r USING INDEX analysis_run_created ((created_at,id,attempt)<(?,?,?))", sorted},
		{"a page of one state", catalog.Filter{States: []outcome.State{outcome.Lost}, After: page, Limit: 50}, "SEARCH r USING INDEX analysis_run_state (state=? AND (created_at,id,attempt)<(?,?,?))", sorted},
		{"a page of what has not ended", catalog.Filter{States: []outcome.State{outcome.Running}, After: page, Limit: 50}, "SEARCH r USING INDEX analysis_run_open ((created_at,id,attempt)<(?,?,?))", sorted},
		{"a page of a common label", catalog.Filter{Labels: map[string]string{"common": "v"}, After: page, Limit: 50}, "SEARCH r USING INDEX analysis_run_created ((created_at,id,attempt)<(?,?,?))", sorted},
		{"a text", catalog.Filter{Text: "a", Limit: 50}, "SCAN r USING INDEX analysis_run_created", sorted},
		{"an id", catalog.Filter{ID: "a"}, "SEARCH r USING INDEX sqlite_autoindex_analysis_run_1 (id=?)", "analysis_run_created"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := planOf(t, c, func(c relational.Catalog) error { _, err := c.List(t.Context(), tt.filter); return err })
			if !strings.Contains(got, tt.want) || strings.Contains(got, tt.never) {
				t.Errorf("want %q and no %q in the plan:\n%s", tt.want, tt.never, got)
			}
		})
	}
}

// gc reads the digests of a million outputs only from indexes, and no row of their runs.
func TestDigestsPlan(t *testing.T) {
	c := opened(t, filepath.Join(t.TempDir(), "catalog.db"))
	got := plan(t, c, selectDigests)
	for _, want := range []string{
		"SEARCH o USING COVERING INDEX analysis_output_sha256", "SEARCH r USING INDEX analysis_run_outputs_removed (id=? AND attempt=?)",
		"SCAN run_blob USING COVERING INDEX run_blob_sha256",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in the plan:\n%s", want, got)
		}
	}
	if strings.Contains(got, "TEMP B-TREE") {
		t.Errorf("it sorts:\n%s", got)
	}
}

// Both queries by a label find the same runs.
func TestListByCommonLabel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	c := opened(t, path)
	labelled(t, path, map[string]int{"rare": 3, "common": few + 1})
	execute(t, path, `INSERT INTO run_label SELECT id, attempt, 'common', 'other' FROM analysis_run WHERE id LIKE 'rare-%'`)
	execute(t, path, `UPDATE run_label SET value = 'w' WHERE id = 'common-7'`)
	execute(t, path, `INSERT INTO analysis_run (id, attempt, state, created_at, host, boot_id, tool_version)
		VALUES ('common-8', 2, 'lost', '2026-03-04T05:06:07.000Z', '', '', '')`)
	execute(t, path, `INSERT INTO run_label VALUES ('common-8', 2, 'common', 'v')`)
	for label, want := range map[string]int{"common": few + 1, "rare": 3} {
		runs, err := c.List(t.Context(), catalog.Filter{Labels: map[string]string{label: "v"}})
		must(t, err)
		for _, run := range runs {
			if run.Labels[label] != "v" {
				t.Errorf("%s@%d has the labels %v", run.ID, run.Attempt, run.Labels)
			}
		}
		if len(runs) != want {
			t.Errorf("%d runs with the label %s, want %d", len(runs), label, want)
		}
	}
}

// stats reads a million runs only from an index, and sorts nothing.
func TestUsagePlan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	c := opened(t, path)
	labelled(t, path, map[string]int{"rare": few, "common": few + 1})
	const covered = "r USING COVERING INDEX analysis_run_usage"
	tests := []struct {
		name, label string
		filter      catalog.Filter
		want        string
	}{
		{"all", "", catalog.Filter{}, covered},
		{"by a label", "common", catalog.Filter{}, covered},
		{"since then", "", catalog.Filter{Since: time.Now(), Until: time.Now()}, "SEARCH " + covered + " (<expr>>?)"},
		{"of states and reasons", "", catalog.Filter{States: []outcome.State{outcome.Complete, outcome.Failed}, Reasons: []outcome.Reason{"exit"}}, covered},
		{"of one state", "", catalog.Filter{States: []outcome.State{outcome.Failed}}, covered},
		{"of a common label", "common", catalog.Filter{Labels: map[string]string{"common": "v"}}, covered},
		{"of a rare label", "", catalog.Filter{Labels: map[string]string{"rare": "v"}}, "SEARCH r USING INDEX sqlite_autoindex_analysis_run_1 (id=? AND attempt=?)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			query, args, err := c.usageQuery(t.Context(), tt.filter, tt.label)
			must(t, err)
			got := plan(t, c, query, args...)
			if !strings.Contains(got, tt.want) || strings.Contains(got, "B-TREE") && strings.Contains(tt.want, covered) {
				t.Errorf("want %q and no sort in the plan:\n%s", tt.want, got)
			}
		})
	}
}
