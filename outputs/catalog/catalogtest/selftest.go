package catalogtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// found is the report of a selftest, some milliseconds after the sample runs were made.
func found(ms int, host string) catalog.Selftest {
	return catalog.Selftest{
		At: created().Add(time.Duration(ms) * time.Millisecond), Host: host, ToolVersion: "v0.0.1", Passed: true,
		Report: json.RawMessage(`{"checks":[{"name":"tcp","target":"é 🧠","verdict":"out of reach"}]}`),
	}
}

func testSelftests(t *testing.T, d Driver) {
	c := fresh(t, d)
	wantSelftests(t, c, 0)
	failed := found(2, "b")
	failed.Passed, failed.Report = false, json.RawMessage(`[]`)
	zoned := found(2, "c")
	zoned.At = zoned.At.Add(999 * time.Microsecond).In(time.FixedZone("east", 3600))
	bare := catalog.Selftest{At: created().Add(-time.Hour), Report: json.RawMessage(`{}`)}
	for _, report := range []catalog.Selftest{failed, found(3, "newest"), zoned, bare, found(2, "b"), found(2, "b")} {
		must(t, c.AddSelftest(t.Context(), report))
	}
	want := []catalog.Selftest{found(3, "newest"), found(2, "b"), found(2, "b"), found(2, "c"), failed, bare}
	for limit := range want {
		kept := want
		if limit > 0 {
			kept = want[:limit]
		}
		wantSelftests(t, c, limit, kept...)
	}
	wantSelftests(t, c, len(want), want...)
	wantSelftests(t, c, len(want)+1, want...)
}

func testSelftestRefuses(t *testing.T, d Driver) {
	c := fresh(t, d)
	tests := []struct {
		name   string
		change func(*catalog.Selftest)
	}{
		{"no time", func(s *catalog.Selftest) { s.At = time.Time{} }},
		{"no report", func(s *catalog.Selftest) { s.Report = nil }},
		{"broken report", func(s *catalog.Selftest) { s.Report = json.RawMessage(`{`) }},
		{"report that is no text", func(s *catalog.Selftest) { s.Report = json.RawMessage("\"\xff\"") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := found(1, "a")
			tt.change(&report)
			if err := c.AddSelftest(t.Context(), report); err == nil {
				t.Error("it was added")
			}
			wantSelftests(t, c, 0)
		})
	}
}

// wantSelftests compares reports; JSON by content.
func wantSelftests(t *testing.T, c catalog.Selftests, limit int, want ...catalog.Selftest) {
	t.Helper()
	got, err := c.Selftests(t.Context(), limit)
	must(t, err)
	if len(got) != len(want) {
		t.Fatalf("%d reports of at most %d, want %d", len(got), limit, len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.At != w.At || g.Host != w.Host || g.ToolVersion != w.ToolVersion || g.Passed != w.Passed ||
			meaning(t, g.Report) != meaning(t, w.Report) {
			t.Errorf("report %d of at most %d = %+v, want %+v", i, limit, g, w)
		}
	}
}
