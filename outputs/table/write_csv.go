package table

import (
	"encoding/csv"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CSV writes a table as CSV (RFC 4180, lines that end with LF). A spreadsheet would execute a text that begins as a formula, and
// these texts are those of the analyses: it gets an apostrophe in front, unless Exact is set.
type CSV struct {
	Exact   bool
	to      *csv.Writer
	guarded int64
	row     []string
}

// NewCSV writes the header.
func NewCSV(to io.Writer, l Layout, exact bool) (*CSV, error) {
	w := &CSV{Exact: exact, to: csv.NewWriter(to)}
	for _, name := range l.Names() {
		w.row = append(w.row, w.guard(Cell{name, Text}))
	}
	return w, w.to.Write(w.row)
}

// Row writes a row.
func (w *CSV) Row(cells []Cell) error {
	for i, cell := range cells {
		w.row[i] = w.guard(cell)
	}
	return w.to.Write(w.row)
}

// guard is the text of a cell that no spreadsheet takes for a formula.
func (w *CSV) guard(c Cell) string {
	if w.Exact || c.Kind != Text || !isFormula(c.Text) {
		return c.Text
	}
	w.guarded++
	return "'" + c.Text
}

// isFormula reports whether a spreadsheet may take a text for a formula (OWASP, "CSV Injection"). In Chinese and Japanese settings one
// may begin with a full-width character. What a program skips that trims texts, or takes for a byte order mark, does not count.
func isFormula(text string) bool {
	if text != "" && strings.ContainsRune("\t\r\n", rune(text[0])) {
		return true
	}
	text = strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) })
	first, _ := utf8.DecodeRuneInString(text)
	return strings.ContainsRune("=+-@＝＋－＠", first)
}

// Guarded is how many texts have got an apostrophe.
func (w *CSV) Guarded() int64 { return w.guarded }

// Close writes what is buffered.
func (w *CSV) Close() error {
	w.to.Flush()
	return w.to.Error()
}
