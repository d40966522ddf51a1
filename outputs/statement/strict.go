package statement

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// object is a JSON object. Its names are compared exactly: encoding/json would take "Payload" for "payload".
type object = map[string]any

// parse reads one JSON value. Numbers are json.Number, as they are written. It refuses what two readers could understand
// differently: a name that an object has twice, text that is not UTF-8, half of a surrogate pair, anything after the value.
func parse(data []byte) (any, error) {
	switch {
	case !utf8.Valid(data):
		return nil, errors.New("it is not UTF-8")
	case !json.Valid(data):
		return nil, syntaxError(data)
	case hasSurrogate(data):
		return nil, errors.New(`it has a surrogate (\ud800 to \udfff), which is no character`)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return readValue(d, "")
}

// parseObject is parse for an object.
func parseObject(data []byte) (object, error) {
	value, err := parse(data)
	if err != nil {
		return nil, err
	}
	o, ok := value.(object)
	if !ok {
		return nil, errors.New("it is no JSON object")
	}
	return o, nil
}

// syntaxError says why data is not one JSON value.
func syntaxError(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return fmt.Errorf("it is not one JSON value: %w", err)
	}
	return errors.New("it is not one JSON value")
}

// hasSurrogate reports whether valid JSON has an escaped surrogate. scidex-oci writes none.
func hasSurrogate(data []byte) bool {
	for i := 0; i+5 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++
		if data[i] == 'u' {
			unit, err := strconv.ParseUint(string(data[i+1:i+5]), 16, 16)
			if err == nil && unit&0xf800 == 0xd800 {
				return true
			}
		}
	}
	return false
}

// readValue reads a value whose syntax is valid. path is its position, for messages.
func readValue(d *json.Decoder, path string) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, noEnd(err)
	}
	switch token {
	case json.Delim('{'):
		return readObject(d, path)
	case json.Delim('['):
		return readList(d, path)
	}
	return token, nil
}

func readObject(d *json.Decoder, path string) (object, error) {
	o := object{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, noEnd(err)
		}
		name, _ := token.(string) // the syntax is valid
		if _, twice := o[name]; twice {
			return nil, fmt.Errorf("the name %q is there twice", below(path, name))
		}
		if o[name], err = readValue(d, below(path, name)); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return o, noEnd(err)
}

func readList(d *json.Decoder, path string) ([]any, error) {
	list := []any{}
	for d.More() {
		value, err := readValue(d, at(path, len(list)))
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := d.Token()
	return list, noEnd(err)
}

// noEnd keeps io.EOF from being taken for success.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// below is the path of a member of an object.
func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// at is the path of an element of a list.
func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
