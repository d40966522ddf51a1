package table

import (
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Writer takes the rows of a table. Close ends the table, and leaves what it is written to open.
type Writer interface {
	// Row takes a cell for each column. They are valid until it returns.
	Row(cells []Cell) error
	Close() error
}

// Write reads an output that a Survey has added again, and writes its rows.
func (l Layout) Write(to Writer, run Run, path string, content io.Reader) error {
	row := make([]Cell, len(l.Columns))
	row[0], row[1], row[2] = Cell{run.ID, Text}, Cell{strconv.Itoa(run.Attempt), Int}, Cell{run.State, Text}
	for name, value := range run.Labels {
		at, known := l.labels[name]
		if !known {
			return fmt.Errorf("label %q is new", name)
		}
		row[at] = bare(value)
	}
	first := len(l.Columns) - len(l.outputs)
	return Read(path, content, func(names []string, cells []Cell) error {
		clear(row[first:])
		for i, name := range names {
			at, known := l.outputs[name]
			if !known {
				return fmt.Errorf("column %q is new", name)
			}
			row[at] = cells[i]
		}
		return to.Row(row)
	})
}

// Names are the names of all columns.
func (l Layout) Names() []string {
	var all []string
	for _, column := range l.Columns {
		all = append(all, column.Name)
	}
	return slices.Clip(all)
}
