package screen

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// Table prints lines for a person: a word on the left, its text on the right.
type Table struct {
	W       io.Writer
	Palette Palette
}

// NewTable makes a table written to w, in colour where f, the final output of w, is a terminal.
func NewTable(w io.Writer, f *os.File, env options.Lookup) Table {
	return Table{W: w, Palette: NewPalette(f, env)}
}

// Row prints one line; none for empty text.
func (t Table) Row(word, text string) {
	if text != "" {
		fmt.Fprintf(t.W, "%-10s  %s\n", word, text)
	}
}

// indent is the width of the words on the left.
const indent = "            "

// Continued prints a further line of the row before it.
func (t Table) Continued(text string) { fmt.Fprintln(t.W, indent+text) }

// Rows prints columns below a row. Cells must be escaped.
func (t Table) Rows(cells [][]string) {
	tw := tabwriter.NewWriter(t.W, 0, 8, 2, ' ', 0)
	for _, row := range cells {
		fmt.Fprintln(tw, indent+strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = tw.Flush() // a write to a closed terminal fails, without consequence
}
