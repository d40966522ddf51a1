package table

import (
	"bufio"
	"io"

	"github.com/scidex-ai/scidex-oci/internal/exactjson"
)

// JSON writes a table as JSON Lines: one object a row, each with all columns in their order.
type JSON struct {
	to      *bufio.Writer
	columns []Column
	keys    [][]byte // with what is before and after each
}

// NewJSON writes nothing yet.
func NewJSON(to io.Writer, l Layout) (*JSON, error) {
	w := &JSON{to: bufio.NewWriter(to), columns: l.Columns}
	before := "{"
	for _, name := range l.Names() {
		key, err := exactjson.Marshal(name)
		if err != nil {
			return nil, err
		}
		w.keys = append(w.keys, append(append([]byte(before), key...), ':'))
		before = ","
	}
	return w, nil
}

// Row writes a row.
func (w *JSON) Row(cells []Cell) error {
	for i, cell := range cells {
		value, err := cell.JSON(w.columns[i].Type)
		if err != nil {
			return err
		}
		_, _ = w.to.Write(w.keys[i]) // the last write has its error
		_, _ = w.to.Write(value)
	}
	_, err := w.to.WriteString("}\n")
	return err
}

// Close writes what is buffered.
func (w *JSON) Close() error { return w.to.Flush() }
