// Package exactjson reads one JSON value with known fields and nothing else, and writes JSON with <, > and & as they are.
package exactjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// ErrMore is Unmarshal's error if something follows the value.
var ErrMore = errors.New("something follows the JSON value")

// Unmarshal reads exactly one value, whose fields are all known.
func Unmarshal(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ErrMore
	}
	return nil
}

// Marshal writes a value on one line, without an end of the line.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
