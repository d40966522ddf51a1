package table

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/exactjson"
)

// Kind is what a cell holds. A set of kinds is what a column holds.
type Kind uint8

// The kinds. The zero Kind is an empty cell.
const (
	Bool    Kind = 1 << iota
	Int          // at most 2^53, which a float holds exactly
	Wide         // a longer integer of 64 bits
	Float        // also nan and inf
	Missing      // NA in CSV: empty in a column of numbers, else text
	Text
)

// Type is the type of a column.
type Type uint8

// The types.
const (
	String Type = iota
	Boolean
	Integer // 64 bits
	Real    // 64 bits
)

// Type is the narrowest type that holds all cells of a column without loss.
func (k Kind) Type() Type {
	switch k &^ Missing {
	case Bool:
		return Boolean
	case Int, Wide, Int | Wide:
		return Integer
	case Float, Int | Float:
		return Real
	default:
		return String
	}
}

// Cell is a value as it was written.
type Cell struct {
	Text string
	Kind Kind
}

// Null reports whether a cell of a column of type t is empty.
func (c Cell) Null(t Type) bool { return c.Kind == 0 || c.Kind == Missing && t != String }

// bare is the cell of a text that says nothing of its kind, as in CSV or a label.
func bare(text string) Cell {
	switch text {
	case "":
		return Cell{}
	case "NA":
		return Cell{text, Missing}
	case "true", "false", "True", "False", "TRUE", "FALSE":
		return Cell{text, Bool}
	}
	return Cell{text, numberKind(text)}
}

// numberKind is the kind of a number, Text for any other text. A leading zero makes an id, not a number.
func numberKind(text string) Kind {
	digits := strings.TrimLeft(text, "+-")
	switch {
	case len(text)-len(digits) > 1 || digits == "":
		return Text
	case strings.EqualFold(digits, "nan") || strings.EqualFold(digits, "inf") || digits == "Infinity":
		return Float
	case strings.Trim(digits, "0123456789.eE+-") != "" || len(digits) > 1 && digits[0] == '0' && isDigit(digits[1]):
		return Text
	}
	if strings.Trim(digits, "0123456789") == "" && text != "-0" {
		return integerKind(text)
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return Text
	}
	return Float
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func integerKind(text string) Kind {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return Text // no type of a column holds it
	case n > 1<<53 || n < -1<<53:
		return Wide
	}
	return Int
}

// Float is the value of a cell of a column of type Real.
func (c Cell) Float() float64 {
	f, err := strconv.ParseFloat(c.Text, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// Integer is the value of a cell of a column of type Integer.
func (c Cell) Integer() int64 {
	n, _ := strconv.ParseInt(c.Text, 10, 64) // its kind says that it is one
	return n
}

// Bool is the value of a cell of a column of type Boolean.
func (c Cell) Bool() bool { return strings.EqualFold(c.Text, "true") }

// JSON is the cell as a value of JSON, in a column of type t. Numbers keep their digits; nan and inf, which JSON has not,
// are null.
func (c Cell) JSON(t Type) ([]byte, error) {
	switch {
	case c.Null(t):
		return []byte("null"), nil
	case t == Boolean:
		return strconv.AppendBool(nil, c.Bool()), nil
	case t == String:
		return exactjson.Marshal(c.Text)
	case json.Valid([]byte(c.Text)):
		return []byte(c.Text), nil
	case t == Integer:
		return strconv.AppendInt(nil, c.Integer(), 10), nil
	}
	if f := c.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return json.Marshal(f)
	}
	return []byte("null"), nil
}
