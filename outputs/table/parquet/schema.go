package parquet

import (
	"reflect"

	"github.com/parquet-go/parquet-go"

	"github.com/scidex-ai/scidex-oci/outputs/table"
)

// ordered is a group whose fields are in the order of the columns; those of parquet.Group are sorted by name.
type ordered struct {
	parquet.Group
	columns []table.Column
}

// Fields returns the fields in order.
func (o ordered) Fields() []parquet.Field {
	var all []parquet.Field
	for _, c := range o.columns {
		all = append(all, field{parquet.Optional(node(c.Type)), c.Name})
	}
	return all
}

// field is a column of a row that is no Go value.
type field struct {
	parquet.Node
	name string
}

// Name is the name of the column.
func (f field) Name() string { return f.name }

// Value is not called where rows are written as values of Parquet.
func (field) Value(reflect.Value) reflect.Value { return reflect.Value{} }

// node is the type of a column.
func node(t table.Type) parquet.Node {
	switch t {
	case table.Boolean:
		return parquet.Leaf(parquet.BooleanType)
	case table.Integer:
		return parquet.Leaf(parquet.Int64Type)
	case table.Real:
		return parquet.Leaf(parquet.DoubleType)
	default:
		return parquet.String()
	}
}
