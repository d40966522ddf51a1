package app

import (
	"slices"
	"strings"
	"testing"
)

// A table is as wide as the terminal at most, what ran is shortened first, and columns that do not fit are left out.
func TestFit(t *testing.T) {
	table := func(id, ran, labels string) [][]string {
		return [][]string{
			{"ID", "ATTEMPT", "STATE", "REASON", "CREATED", "WALL", "OUTPUTS", "RAN", "LABELS"},
			{id, "1", "complete", "exit", "2026-11-25 16:34:29", "10ms", "0", ran, labels},
		}
	}
	const made = "20261125T163429-f173fb11"
	for _, test := range []struct {
		rows    [][]string
		width   int
		columns string // those left
		ran     string
	}{
		{table(made, "fit.py --alpha 3", "a=b"), 200, "ID ATTEMPT STATE REASON CREATED WALL OUTPUTS RAN LABELS", "fit.py --alpha 3"},
		{table(made, "fit.py --alpha 3 --beta 4", "a=b"), 113, "ID ATTEMPT STATE REASON CREATED WALL OUTPUTS RAN LABELS", "fit.py --alpha …"},
		{table("c1", "fit.py --alpha 3", ""), 80, "ID ATTEMPT STATE REASON CREATED WALL OUTPUTS RAN", "fit.py --alp…"},
		{table("c1", "a", ""), 80, "ID ATTEMPT STATE REASON CREATED WALL OUTPUTS RAN LABELS", "a"},
		{table(made, "fit.py --alpha 3", "a=b"), 80, "ID ATTEMPT STATE CREATED RAN", "fit.py --alph…"},
		{table(made, "fit.py --alpha 3", "a=b"), 20, "ID ATTEMPT STATE CREATED RAN", "fit.py --al…"},
	} {
		rows := fit(test.rows, test.width)
		ran := rows[1][slices.Index(rows[0], "RAN")]
		if got := strings.Join(rows[0], " "); got != test.columns || ran != test.ran {
			t.Errorf("%d: columns %s, ran %q, want %s, %q", test.width, got, ran, test.columns, test.ran)
		}
	}
}
