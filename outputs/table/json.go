package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// parseJSON reads one object, several (JSON Lines), or an array of objects: a row each. Values that are objects or arrays
// become their JSON text. NaN and Infinity, which Python writes, are numbers.
func parseJSON(from *bounded, row visit) error {
	if err := from.skipMark(); err != nil {
		return err
	}
	objects := splitter{from: from}
	for n := 1; ; n++ {
		text, err := objects.next()
		if errors.Is(err, io.EOF) && (n > 1 || objects.array) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return errors.New("it is empty")
		}
		if err == nil {
			err = jsonRow(text, row)
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
	}
}

// splitter splits a stream into the texts of its objects.
type splitter struct {
	from    *bounded
	text    []byte
	started bool
	array   bool // the objects are elements of one
	closed  bool // its end was read
	more    bool // an element, or a comma before one, was read
}

// next is the text of the next object, valid until the next call, or io.EOF.
func (s *splitter) next() ([]byte, error) {
	s.from.begin()
	c, err := s.significant()
	if err == nil && !s.started {
		s.started = true
		if s.array = c == '['; s.array {
			c, err = s.significant()
		}
	}
	if err == nil && s.array && !s.closed {
		if c, err = s.element(c); s.closed && err == nil {
			return nil, errors.New("there is something after the array")
		}
	}
	switch {
	case errors.Is(err, io.EOF) && s.array && !s.closed:
		return nil, errors.New("the array does not end")
	case err != nil:
		return nil, err
	case c != '{' || s.closed:
		return nil, fmt.Errorf("it starts with %q, and a record is an object", c)
	}
	return s.object()
}

// element takes what is between two elements of an array, or its end and what follows; c is read already.
func (s *splitter) element(c byte) (byte, error) {
	switch {
	case c == ']':
		s.closed = true
		return s.significant()
	case !s.more:
		s.more = true
		return c, nil
	case c != ',':
		return 0, errors.New("there is no comma between two elements")
	}
	return s.significant()
}

// significant is the next byte that is no blank.
func (s *splitter) significant() (byte, error) {
	for {
		c, err := s.from.ReadByte()
		if err != nil || !isBlank(c) {
			return c, err
		}
		if s.from.Buffered() == 0 {
			s.from.begin() // blanks are dropped
		}
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// object reads to the end of an object, whose first byte was read.
func (s *splitter) object() ([]byte, error) {
	s.text = append(s.text[:0], '{')
	n := nesting{depth: 1}
	for n.depth > 0 {
		c, err := s.from.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the object does not end")
		}
		if err != nil {
			return nil, err
		}
		if len(s.text) >= maxRecord {
			return nil, errRecord
		}
		s.text = append(s.text, c)
		if n.take(c); n.depth > MaxDepth {
			return nil, fmt.Errorf("it is nested deeper than %d", MaxDepth)
		}
	}
	return s.text, nil
}

// nesting follows brackets outside of strings.
type nesting struct {
	depth           int
	quoted, escaped bool
}

func (n *nesting) take(c byte) {
	switch {
	case n.escaped:
		n.escaped = false
	case n.quoted && c == '\\':
		n.escaped = true
	case c == '"':
		n.quoted = !n.quoted
	case n.quoted:
	case c == '{' || c == '[':
		n.depth++
	case c == '}' || c == ']':
		n.depth--
	}
}

// jsonRow is the row of an object.
func jsonRow(text []byte, row visit) error {
	if !utf8.Valid(text) {
		return errors.New("it is not UTF-8")
	}
	names, cells, err := members(text)
	if err != nil {
		return err
	}
	if err := checkNames(names); err != nil {
		return err
	}
	for i, cell := range cells {
		if err := checkText(fmt.Sprintf("the value of %q", names[i]), cell.Text, maxCell); err != nil {
			return err
		}
	}
	return row(names, cells)
}

// errSyntax is an object that is no JSON.
var errSyntax = errors.New("it is no JSON")

// members are the names and values of an object.
func members(text []byte) (names []string, cells []Cell, err error) {
	rest := skipBlanks(text[1:])
	for len(rest) > 0 && (rest[0] != '}' || len(names) > 0) {
		var name string
		key := value(rest)
		if json.Unmarshal(key, &name) != nil || key[0] != '"' {
			return nil, nil, errSyntax
		}
		rest = skipBlanks(rest[len(key):])
		if len(rest) == 0 || rest[0] != ':' {
			return nil, nil, errSyntax
		}
		rest = skipBlanks(rest[1:])
		member := value(rest)
		cell, err := jsonCell(member)
		if err != nil {
			return nil, nil, err
		}
		if names, cells = append(names, name), append(cells, cell); len(names) > MaxColumns {
			return nil, nil, checkNames(names)
		}
		rest = skipBlanks(rest[len(member):])
		if len(rest) == 1 && rest[0] == '}' {
			break
		}
		if len(rest) == 0 || rest[0] != ',' {
			return nil, nil, errSyntax
		}
		rest = skipBlanks(rest[1:])
	}
	return names, cells, nil
}

func skipBlanks(text []byte) []byte {
	return bytes.TrimLeft(text, " \t\n\r")
}

// value is the beginning of a text that is one value, as far as brackets and quotes say.
func value(text []byte) []byte {
	var n nesting
	for i, c := range text {
		if n == (nesting{}) && i > 0 && (isBlank(c) || bytes.IndexByte([]byte(`,:}]`), c) >= 0) {
			return text[:i]
		}
		if n.take(c); n == (nesting{}) && (c == '"' || c == '}' || c == ']') {
			return text[:i+1]
		}
	}
	return text
}

// jsonCell is the cell of a value.
func jsonCell(text []byte) (Cell, error) {
	if len(text) == 0 {
		return Cell{}, errSyntax
	}
	switch literal := string(text[:min(len(text), len("-Infinity"))]); literal {
	case "null":
		return Cell{}, nil
	case "NaN", "Infinity", "-Infinity":
		if len(text) == len(literal) {
			return Cell{literal, Float}, nil
		}
	}
	if text[0] == '{' || text[0] == '[' {
		return nested(text)
	}
	if !json.Valid(text) {
		return Cell{}, errSyntax
	}
	if text[0] == '"' {
		var s string
		err := json.Unmarshal(text, &s)
		return Cell{s, Text}, err
	}
	if text[0] == 't' || text[0] == 'f' {
		return Cell{string(text), Bool}, nil
	}
	return Cell{string(text), numberKind(string(text))}, nil
}

// nested is the text of an object or array. NaN and Infinity in it become null, so that it is JSON.
func nested(text []byte) (Cell, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err == nil {
		return Cell{compact.String(), Text}, nil
	}
	compact.Reset()
	if err := json.Compact(&compact, finite(text)); err != nil {
		return Cell{}, errSyntax
	}
	return Cell{compact.String(), Text}, nil
}

// finite is a text with null instead of NaN and Infinity outside of strings.
func finite(text []byte) []byte {
	var out []byte
	var n nesting
	for i := 0; i < len(text); i++ {
		if !n.quoted {
			if at := slices.IndexFunc(infinite, func(word string) bool { return bytes.HasPrefix(text[i:], []byte(word)) }); at >= 0 {
				out = append(out, "null"...)
				i += len(infinite[at]) - 1
				continue
			}
		}
		n.take(text[i])
		out = append(out, text[i])
	}
	return out
}

var infinite = []string{"NaN", "-Infinity", "Infinity"}
