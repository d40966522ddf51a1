package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// What is read and shown of a table.
const (
	tableRead    = 1 << 20 // bytes
	tableRows    = 12
	tableColumns = 16
	cellMax      = 80 // characters
)

// table is the start of a CSV or TSV file.
type table struct {
	Path, Size string
	Header     []cell // numbered if the file has none
	Rows       [][]cell
	header     bool // it is the file's
	Notes      []string
}

// cell is one of a table; columns of numbers are right-aligned.
type cell struct {
	Text   string
	Number bool
	Whole  string // a number with all of its digits, if Text has not all
}

// newTable reads the start of a table as in RFC 4180, except that rows may differ in length.
func newTable(o result.Output, comma rune, blobs Blobs) table {
	shown := table{Path: o.Path, Size: format.Size(o.Size)}
	content, err := start(blobs, o.SHA256, tableRead)
	if err != nil {
		shown.Notes = []string{unread(err)}
		return shown
	}
	shown.read(content, comma, int64(len(content)) < o.Size)
	return shown
}

// read takes the first rows; cut says that more follows content.
func (t *table) read(content []byte, comma rune, cut bool) {
	rows, columns, total, err := firstRecords(content, comma)
	if cut && err == nil && total > 1 {
		// The last record may be truncated.
		if total--; total < len(rows) {
			rows = rows[:total]
		}
	}
	t.fill(rows)
	t.tell(columns, total, cut)
	if err != nil {
		t.Notes = append(t.Notes, fmt.Sprintf("Shown as far as it is a table: %s.", err))
	}
}

// firstRecords reads all records and returns the first ones, clipped, the greatest number of columns and the number of
// records. An error is of the record after them.
func firstRecords(content []byte, comma rune) (rows [][]string, columns, total int, err error) {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))))
	reader.Comma, reader.FieldsPerRecord, reader.ReuseRecord = comma, -1, true
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, columns, total, nil
		}
		if err != nil {
			return rows, columns, total, err
		}
		total++
		columns = max(columns, len(record))
		if len(rows) <= tableRows {
			rows = append(rows, clipAll(record[:min(len(record), tableColumns)]))
		}
	}
}

func clipAll(record []string) []string {
	clipped := make([]string, len(record))
	for i, text := range record {
		clipped[i] = strings.Clone(format.Cut(text, cellMax))
	}
	return clipped
}

// fill splits the rows into header and body.
func (t *table) fill(rows [][]string) {
	if len(rows) == 0 {
		return
	}
	columns := transpose(rows)
	t.header = t.header || hasHeader(columns)
	for i, column := range columns {
		title, body := strconv.Itoa(i+1), column
		if t.header {
			title, body = column[0], column[1:]
		}
		t.column(title, body[:min(len(body), tableRows)], areNumbers(body))
	}
}

func (t *table) column(title string, body []string, numbers bool) {
	t.Header = append(t.Header, cell{Text: title, Number: numbers})
	for len(t.Rows) < len(body) {
		t.Rows = append(t.Rows, nil)
	}
	for i, text := range body {
		t.Rows[i] = append(t.Rows[i], newCell(text, numbers))
	}
}

// transpose turns rows of one length into columns.
func transpose(rows [][]string) [][]string {
	var columns [][]string
	for i, row := range rows {
		for len(columns) < len(row) {
			columns = append(columns, make([]string, len(rows)))
		}
		for j, text := range row {
			columns[j][i] = text
		}
	}
	return columns
}

// hasHeader reports whether the first row names the columns: nothing in it is a number, or it has a word over numbers.
func hasHeader(columns [][]string) bool {
	numbers := false
	for _, column := range columns {
		if isNumber(column[0]) {
			numbers = true
		} else if column[0] != "" && areNumbers(column[1:]) {
			return true
		}
	}
	return !numbers
}

// areNumbers reports whether a column has numbers only, and at least one.
func areNumbers(column []string) bool {
	return slices.ContainsFunc(column, isNumber) && !slices.ContainsFunc(column, func(text string) bool { return text != "" && !isNumber(text) })
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil
}

// tell says which part of a table is not shown.
func (t *table) tell(columns, records int, cut bool) {
	if t.header {
		records--
	}
	switch {
	case len(t.Header) == 0:
		t.Notes = append(t.Notes, "It has no rows.")
	case cut:
		t.Notes = append(t.Notes, fmt.Sprintf("The first %s; there are more.", format.Count(len(t.Rows), "row", "rows")))
	case records > len(t.Rows):
		t.Notes = append(t.Notes, fmt.Sprintf("The first %s of %d.", format.Count(len(t.Rows), "row", "rows"), records))
	}
	if columns > tableColumns {
		t.Notes = append(t.Notes, fmt.Sprintf("The first %d columns of %d.", tableColumns, columns))
	}
}
