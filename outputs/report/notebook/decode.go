package notebook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
)

// decoder reads JSON piece by piece, so that a notebook of a million cells costs no more than one of a few. It skips a
// value of another type than requested.
type decoder struct{ *json.Decoder }

// nothing takes any value.
type nothing struct{}

func (*nothing) UnmarshalJSON([]byte) error { return nil }

func (d decoder) skip() error { return d.Decode(&nothing{}) }

// open enters an object or array, or skips another value.
func (d decoder) open(want json.Delim) (bool, error) {
	token, err := d.Token()
	if err != nil || token == want {
		return err == nil, err
	}
	if at, inside := token.(json.Delim); inside {
		return false, d.leave(at)
	}
	return false, nil
}

// leave skips the rest of an object or array that was entered.
func (d decoder) leave(at json.Delim) error {
	for d.More() {
		if at == '{' {
			if _, err := d.Token(); err != nil {
				return err
			}
		}
		if err := d.skip(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// object calls field for each key of an object; field reads the value.
func (d decoder) object(field func(key string) error) error {
	inside, err := d.open('{')
	if err != nil || !inside {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("a name in it is %v", key)
		}
		if err := field(name); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// array calls element for each element of an array; element reads it.
func (d decoder) array(element func() error) error {
	inside, err := d.open('[')
	if err != nil || !inside {
		return err
	}
	for d.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// number is a positive number, 0 for anything else.
func (d decoder) number() (int, error) {
	token, err := d.Token()
	if err != nil {
		return 0, err
	}
	switch t := token.(type) {
	case float64:
		if t >= 1 && t <= 1e9 {
			return int(t), nil
		}
	case json.Delim:
		return 0, d.leave(t)
	}
	return 0, nil
}

// text reads a string, or a list of strings that it joins, up to most bytes.
func (d decoder) text(most int) (text string, cut bool, err error) { return d.joined(most, "") }

// lines is a list of strings, each on lines of its own.
func (d decoder) lines(most int) (text string, cut bool, err error) { return d.joined(most, "\n") }

func (d decoder) joined(most int, between string) (string, bool, error) {
	token, err := d.Token()
	if err != nil {
		return "", false, err
	}
	all := bounded.Head(most)
	switch t := token.(type) {
	case string:
		fmt.Fprint(all, t)
	case json.Delim:
		if t != '[' {
			return "", false, d.leave(t)
		}
		for err == nil && d.More() {
			if all.Total() > 0 {
				fmt.Fprint(all, between)
			}
			var part string
			part, err = d.fragment()
			fmt.Fprint(all, part)
		}
		if err == nil {
			_, err = d.Token()
		}
	}
	return strings.ToValidUTF8(all.String(), ""), all.Cut(), err // a last character may be cut
}

// fragment is one string of a list, "" for anything else.
func (d decoder) fragment() (string, error) {
	token, err := d.Token()
	if err != nil {
		return "", err
	}
	switch t := token.(type) {
	case string:
		return t, nil
	case json.Delim:
		return "", d.leave(t)
	}
	return "", nil
}
