package catalog

import (
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"
)

// Selftest is one row of selftest_report: the result of a host's selftest.
type Selftest struct {
	At                time.Time // UTC, to the millisecond
	Host, ToolVersion string
	Passed            bool
	Report            json.RawMessage // the whole report, as `selftest --json` prints it
}

// Validate returns why s is invalid, or nil.
func (s Selftest) Validate() error {
	switch {
	case s.At.IsZero():
		return errors.New("the time is missing")
	case !json.Valid(s.Report) || !utf8.Valid(s.Report):
		return errors.New("the report is missing or not JSON in UTF-8")
	}
	return nil
}
