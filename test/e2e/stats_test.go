package e2e

import (
	"slices"
	"strings"
	"testing"
)

type figureStats struct {
	Used, Asked struct {
		Count              int
		P50, P90, P99, Max float64
	}
	AtLimit   int `json:"at_limit"`
	Suggested *float64
}

type runStats struct {
	By          *string
	Runs        int
	GroupsTotal int `json:"groups_total"`
	Groups      []struct {
		Label              *string
		Runs               int
		Memory, CPUs, Time figureStats
	}
}

func (h *harness) stats(flags ...string) (s runStats) {
	h.t.Helper()
	if err := decode("stats.json", []byte(h.mustRun(append([]string{"stats", "--json"}, flags...)...).stdout), &s); err != nil {
		h.t.Fatal(err)
	}
	return s
}

// The statistics have what runs requested and used, and a limit that has ended one, but no run that never began.
func TestStats(t *testing.T) {
	h := newHarness(t)
	var took []float64
	for range 2 {
		r := h.start("--label", "kind=a", "--timeout", "10m", "--", "sleep", "0.2")
		r.expect(t, "complete", "exit", 0)
		took = append(took, float64(r.Usage.WallMS))
	}
	late := h.start("--timeout", "1s", "--grace", "1s", "--", "sleep", "60")
	late.expect(t, "failed", "timeout", 124)
	h.start("--label", "kind=a", "--", "/nowhere").expect(t, "failed", "not_found", 127)

	s := h.stats("--by", "kind")
	if s.Runs != 3 || s.GroupsTotal != 2 || *s.By != "kind" || *s.Groups[0].Label != "a" || s.Groups[1].Label != nil {
		t.Fatalf("%+v", s)
	}
	a, other := s.Groups[0], s.Groups[1]
	if a.Runs != 2 || !slices.Contains(took, a.Time.Used.P50) || a.Time.Asked.Max != 600_000 || a.Time.AtLimit != 0 || a.Time.Suggested == nil || a.CPUs.Asked.P50 != 1 {
		t.Errorf("the runs with the label: %+v", a)
	}
	if other.Runs != 1 || other.Time.AtLimit != 1 || other.Time.Suggested != nil || other.Time.Used.Max != float64(late.Usage.WallMS) {
		t.Errorf("the run that timed out: %+v", other)
	}
	if all := h.stats("--state", "complete"); all.By != nil || all.Runs != 2 || all.GroupsTotal != 1 || all.Groups[0].Label != nil {
		t.Errorf("those that are complete: %+v", all)
	}
	if none := h.stats("--until", "2020-01-01"); none.Runs != 0 || len(none.Groups) != 0 {
		t.Errorf("those of 2019: %+v", none)
	}

	table := h.mustRun("stats", "--by", "kind", "--limit", "1").stdout
	for _, want := range []string{"GROUP", "kind=a  2", "suggested", "and 1 more group with fewer runs"} {
		if !strings.Contains(strings.ToLower(table), strings.ToLower(want)) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}
