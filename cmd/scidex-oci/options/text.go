package options

import (
	"fmt"
	"strconv"
)

// Text is an option as it was given. The zero value was not given.
type Text struct {
	Value  string   // the last of Values, which wins as on a command line
	Values []string // of a repeatable flag
	Given  bool
	Label  string // how a message names the option: --db, SCIDEX_OCI_DB, config file "x": db
	Dir    string // relative paths start here
	Layer  int    // the index of the winning layer
}

// Or is the value, or otherwise if none was given.
func (t Text) Or(otherwise string) string {
	if t.Given {
		return t.Value
	}
	return otherwise
}

// Path is the value as an absolute path, or otherwise if none was given.
func (t Text) Path(otherwise string) string {
	if t.Given {
		return Absolute(t.Dir, t.Value)
	}
	return otherwise
}

// Bool is whether a switch is on.
func (t Text) Bool() (bool, error) {
	if !t.Given {
		return false, nil
	}
	on, err := strconv.ParseBool(t.Value)
	if err != nil {
		return false, t.Refuse("give true or false")
	}
	return on, nil
}

// Refuse is the error of a bad value; why says what to give. It may wrap an error by %w.
func (t Text) Refuse(why string, args ...any) error {
	return fmt.Errorf("%s %q: "+why, append([]any{t.Label, t.Value}, args...)...)
}

// Wrap is an error of a parser, which names the value itself.
func (t Text) Wrap(err error) error { return fmt.Errorf("%s: %w", t.Label, err) }
