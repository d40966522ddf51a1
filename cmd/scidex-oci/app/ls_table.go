package app

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

const (
	ranColumn = "RAN"
	// ranMax bounds what ran in the table, in characters; on a narrow terminal it is shortened down to ranMin.
	ranMax, ranMin = 40, 12
	gap            = 2 // between columns
)

// listTable prints a table that is at most as wide as the terminal; width 0 is none.
func listTable(ctx context.Context, w io.Writer, width int, runs []catalog.Run, st *stores.Stores) error {
	rows := [][]string{{"ID", "ATTEMPT", "STATE", "REASON", "CREATED", "WALL", "OUTPUTS", ranColumn, "LABELS"}}
	for _, r := range runs {
		state, wall := string(r.State), format.Duration(stores.UsageOf(r).WallMS)
		if !r.State.Final() {
			state, wall = st.Liveness(ctx, r)
		}
		rows = append(rows, []string{
			screen.Escape(r.ID), strconv.Itoa(r.Attempt), screen.Escape(state), screen.Escape(string(r.Reason)), screen.LocalTime(r.CreatedAt), wall,
			strconv.FormatInt(r.OutputsTotal, 10), screen.Escape(format.Cut(result.Ran(r.Request), ranMax)), results.Labels(r.Labels),
		})
	}
	if width > 0 {
		rows = fit(rows, width)
	}
	tw := tabwriter.NewWriter(w, 0, 8, gap, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

// fit makes a table as narrow as the terminal, if need be: it shortens what ran, then leaves columns out that show has too.
func fit(rows [][]string, width int) [][]string {
	for _, column := range []string{"LABELS", "OUTPUTS", "REASON", "WALL"} {
		if rest := restOf(rows, width); rest >= ranMin {
			break
		}
		rows = without(rows, column)
	}
	ran, rest := slices.Index(rows[0], ranColumn), max(restOf(rows, width), ranMin)
	for _, row := range rows {
		row[ran] = format.Cut(row[ran], rest)
	}
	return rows
}

// restOf is how many columns of the terminal are left for what ran.
func restOf(rows [][]string, width int) int {
	for i, name := range rows[0] {
		widest := 0
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[i]))
		}
		switch {
		case name != ranColumn:
			width -= widest + gap
		case widest < ranMin: // shorter than it might become
			width += ranMin - widest
		}
	}
	return width
}

func without(rows [][]string, column string) [][]string {
	i := slices.Index(rows[0], column)
	for j, row := range rows {
		rows[j] = slices.Delete(slices.Clone(row), i, i+1)
	}
	return rows
}
