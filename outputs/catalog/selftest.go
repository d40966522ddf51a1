package catalog

import (
	"context"
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

// Selftests are the reports of selftests, which the database of a catalog keeps next to the runs.
type Selftests interface {
	// AddSelftest stores the report of a selftest; every call adds one. An invalid report (Selftest.Validate) is refused.
	AddSelftest(ctx context.Context, report Selftest) error
	// Selftests returns up to limit reports, newest first, and within one millisecond the last added first; limit 0 means
	// all.
	Selftests(ctx context.Context, limit int) ([]Selftest, error)
}

// Database is a catalog with all that its database keeps.
type Database interface {
	Catalog
	Selftests
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
