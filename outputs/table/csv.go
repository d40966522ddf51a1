package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
)

// parseCSV reads a table whose first record has the names of the columns. A column without a name, such as the index that
// pandas writes, is named by its number.
func parseCSV(separator rune) parser {
	return func(from *bounded, row visit) error {
		if err := from.skipMark(); err != nil {
			return err
		}
		r := csv.NewReader(from.Reader)
		r.Comma, r.ReuseRecord = separator, true
		header, err := r.Read()
		if errors.Is(err, io.EOF) {
			return errors.New("it is empty")
		}
		if err != nil {
			return err
		}
		names := slices.Clone(header)
		for i, name := range names {
			if name == "" {
				names[i] = fmt.Sprintf("column%d", i+1)
			}
		}
		if err := checkNames(names); err != nil {
			return err
		}
		return csvRows(from, r, names, row)
	}
}

func csvRows(from *bounded, r *csv.Reader, names []string, row visit) error {
	cells := make([]Cell, len(names))
	for {
		from.begin()
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i, text := range record {
			if err := checkText("a cell", text, maxCell); err != nil {
				line, _ := r.FieldPos(i)
				return fmt.Errorf("line %d: %w", line, err)
			}
			cells[i] = bare(text)
		}
		if err := row(names, cells); err != nil {
			return err
		}
	}
}
