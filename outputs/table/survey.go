package table

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Run is what a table says of a run.
type Run struct {
	ID      string
	Attempt int
	State   string
	Labels  map[string]string
}

// Survey is what is known of the columns.
type Survey struct {
	outputs columns
	labels  map[string]Kind
	rows    int64
}

// columns are names in the order in which they were first seen, and what is below each.
type columns struct {
	names []string
	kinds map[string]Kind
}

// add adds a cell.
func (c *columns) add(name string, kind Kind) {
	if _, known := c.kinds[name]; !known {
		if c.kinds == nil {
			c.kinds = map[string]Kind{}
		}
		c.names = append(c.names, name)
	}
	c.kinds[name] |= kind
}

// Add reads an output of a run to its end. On an error the table does not have the run, and says nothing of it. An error of
// reading the content is a *ReadError. It returns the number of rows.
func (s *Survey) Add(run Run, path string, content io.Reader) (rows int64, err error) {
	var own columns
	err = Read(path, content, func(names []string, cells []Cell) error {
		rows++
		for i, name := range names {
			own.add(name, cells[i].Kind)
		}
		if len(own.names) > MaxColumns {
			return fmt.Errorf("it has more than %d columns", MaxColumns)
		}
		return nil
	})
	if err == nil {
		err = s.merge(run, own)
	}
	if err != nil {
		return 0, err
	}
	s.rows += rows
	return rows, nil
}

// Rows is how many rows the table has.
func (s *Survey) Rows() int64 { return s.rows }

// merge takes the columns of an output and the labels of its run, or none of them.
func (s *Survey) merge(run Run, own columns) error {
	all := len(s.outputs.names)
	for _, name := range own.names {
		if _, known := s.outputs.kinds[name]; !known {
			all++
		}
	}
	if all > maxAll {
		return fmt.Errorf("the table would have more than %d columns with those of this output", maxAll)
	}
	labels := maps.Clone(s.labels)
	if labels == nil {
		labels = map[string]Kind{}
	}
	for name, value := range run.Labels {
		labels[name] |= bare(value).Kind
	}
	if len(labels) > maxLabelNames {
		return fmt.Errorf("the table would have more than %d labels with those of this run", maxLabelNames)
	}
	s.labels = labels
	for _, name := range own.names {
		s.outputs.add(name, own.kinds[name])
	}
	return nil
}

// Column is a column of the table.
type Column struct {
	Name string
	Type Type
}

// Layout is the table that a Survey has found: id, attempt, state, the labels by name, then the columns of the outputs.
type Layout struct {
	Columns []Column
	labels  map[string]int // columns of labels
	outputs map[string]int // columns of outputs
}

// fixed are the columns that each table has.
var fixed = []Column{{"id", String}, {"attempt", Integer}, {"state", String}}

// Layout gives each column a name of its own. A column of an output that is named as a fixed one is output.NAME, and a label
// that is named as either is label.NAME.
func (s *Survey) Layout() Layout {
	l := Layout{labels: map[string]int{}, outputs: map[string]int{}}
	taken := map[string]bool{}
	for _, column := range fixed {
		taken[column.Name] = true
	}
	named := map[string]string{}
	for _, name := range s.outputs.names {
		if !taken[name] {
			named[name] = name
		}
	}
	for name := range named {
		taken[name] = true
	}
	for _, name := range s.outputs.names {
		if named[name] == "" {
			named[name] = free(taken, "output.", name)
		}
	}
	l.Columns = slices.Clone(fixed)
	for _, name := range slices.Sorted(maps.Keys(s.labels)) {
		l.labels[name] = len(l.Columns)
		l.Columns = append(l.Columns, Column{free(taken, "label.", name), s.labels[name].Type()})
	}
	for _, name := range s.outputs.names {
		l.outputs[name] = len(l.Columns)
		l.Columns = append(l.Columns, Column{named[name], s.outputs.kinds[name].Type()})
	}
	return l
}

// free is name with as many prefixes as make it one that is not taken, which it then is.
func free(taken map[string]bool, prefix, name string) string {
	for taken[name] {
		name = prefix + name
	}
	taken[name] = true
	return name
}
