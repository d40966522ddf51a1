// Package parquet writes a table as a file of Apache Parquet.
package parquet

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/scidex-ai/scidex-oci/outputs/table"
)

// groupBytes and groupRows bound a group of rows, which is held in memory, by the texts of its cells and by its rows.
const (
	groupBytes = 16 << 20
	groupRows  = 1 << 16
)

// Writer writes a table. All columns are optional, in the order of the table.
type Writer struct {
	to      *parquet.GenericWriter[any]
	columns []table.Column
	row     parquet.Row
	bytes   int // of texts in the group
	rows    int // in the group
}

// New makes a writer.
func New(to io.Writer, l table.Layout) *Writer {
	schema := parquet.NewSchema("table", ordered{columns: l.Columns})
	return &Writer{
		to:      parquet.NewGenericWriter[any](to, schema, parquet.Compression(&parquet.Snappy), parquet.PageBufferSize(64<<10)),
		columns: l.Columns, row: make(parquet.Row, len(l.Columns)),
	}
}

// Row writes a row.
func (w *Writer) Row(cells []table.Cell) error {
	for i, cell := range cells {
		w.row[i] = value(cell, w.columns[i].Type, i)
		w.bytes += len(cell.Text) + 1
	}
	if _, err := w.to.WriteRows([]parquet.Row{w.row}); err != nil {
		return err
	}
	if w.rows++; w.bytes < groupBytes && w.rows < groupRows {
		return nil
	}
	w.bytes, w.rows = 0, 0
	return w.to.Flush()
}

// Close writes the end of the file.
func (w *Writer) Close() error { return w.to.Close() }

// value is a cell of the optional column at index.
func value(c table.Cell, t table.Type, index int) parquet.Value {
	if c.Null(t) {
		return parquet.NullValue().Level(0, 0, index)
	}
	var v parquet.Value
	switch t {
	case table.Boolean:
		v = parquet.BooleanValue(c.Bool())
	case table.Integer:
		v = parquet.Int64Value(c.Integer())
	case table.Real:
		v = parquet.DoubleValue(c.Float())
	default:
		v = parquet.ByteArrayValue([]byte(c.Text))
	}
	return v.Level(0, 1, index)
}
