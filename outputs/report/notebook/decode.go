package notebook

import (
	"encoding/json"
	"fmt"
	"strings"
)

// decoder reads JSON piece by piece, so that a notebook of a million cells costs no more than one of a few. Where it finds a
// value of another type than asked for, it skips it.
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

// text is a string, or a list of strings that belong together, up to so many bytes.
func (d decoder) text(most int) (text string, cut bool, err error) { return d.joined(most, "") }

// lines is a list of strings, each on lines of its own.
func (d decoder) lines(most int) (text string, cut bool, err error) { return d.joined(most, "\n") }

func (d decoder) joined(most int, between string) (string, bool, error) {
	token, err := d.Token()
	if err != nil {
		return "", false, err
	}
	all := bounded{most: most}
	switch t := token.(type) {
	case string:
		all.add(t)
	case json.Delim:
		if t != '[' {
			return "", false, d.leave(t)
		}
		for d.More() {
			part, err := d.part()
			if err != nil {
				return all.String(), all.cut, err
			}
			if all.Len() > 0 {
				all.add(between)
			}
			all.add(part)
		}
		_, err = d.Token()
	}
	return all.String(), all.cut, err
}

// part is one string of a list, "" for anything else.
func (d decoder) part() (string, error) {
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

// bounded is a text up to a number of bytes.
type bounded struct {
	strings.Builder
	most int
	cut  bool
}

func (b *bounded) add(text string) {
	if room := b.most - b.Len(); len(text) > room {
		b.cut = true
		text = strings.ToValidUTF8(text[:room], "")
	}
	b.WriteString(text)
}
