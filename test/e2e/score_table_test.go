package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// score is the result of one try of the attack list in one sandbox.
type score struct{ Sandbox, Attack, Try, Outside, Inside string }

// verdict is held, not held, or "" if the try shows nothing: it fails without a sandbox too, or could not be made.
func (s score) verdict() string {
	switch {
	case s.Outside != "ok" || s.Inside == "":
		return ""
	case s.Inside == "ok":
		return "not held"
	}
	return "held"
}

// scoreTable is a table in Markdown: attack by attack how many tries each sandbox held, of those that succeed without one.
func scoreTable(sandboxes []string, scores []score) string {
	counts, attacks := map[[2]string]tally{}, []string{}
	for _, s := range scores {
		at := [2]string{s.Attack, s.Sandbox}
		if counts[at] == nil {
			counts[at] = tally{}
		}
		counts[at][s.verdict()]++
		attacks = append(attacks, s.Attack)
	}
	slices.Sort(attacks)
	text := "| attack | " + strings.Join(sandboxes, " | ") + " |\n|---|" + strings.Repeat("---|", len(sandboxes)) + "\n"
	for _, attack := range slices.Compact(attacks) {
		text += "| `" + attack + "` |"
		for _, sandbox := range sandboxes {
			text += " " + cellOf(counts[[2]string{attack, sandbox}]) + " |"
		}
		text += "\n"
	}
	return text
}

// cellOf is "held of shown", or a dash if nothing was shown.
func cellOf(c tally) string {
	if c["held"]+c["not held"] == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", c["held"], c["held"]+c["not held"])
}

// TestScoreTable: what counts as held, as not held and as neither, which scripts/score prints.
func TestScoreTable(t *testing.T) {
	got := scoreTable([]string{"one", "two"}, []score{
		{"one", "b.py", "x", "ok", "EPERM"},
		{"one", "b.py", "y", "ok", "ok"},
		{"one", "b.py", "z", "ENOENT", "ENOENT"},
		{"two", "b.py", "x", "ok", ""},
		{"two", "a.c", "x", "ok", "SIGSYS"},
	})
	want := "| attack | one | two |\n|---|---|---|\n| `a.c` | - | 1 of 1 |\n| `b.py` | 1 of 2 | - |\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
