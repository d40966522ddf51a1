package catalog

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Event is one row of sandbox_audit_event: an attempt of a run that a sandbox observed.
type Event struct {
	At       time.Time // UTC, of the first attempt, to the millisecond
	Kind     string    // of attempt: "connect", "socket", "limit", "architecture", ...
	Address  []byte    // a path or an address, exact bytes; nil if none
	Severity string    // "low", "medium" or "high"
	Allowed  bool      // the sandbox allowed it
	Blocked  bool      // the sandbox blocked it
	Count    int64     // number of attempts, at least 1
}

// Validate returns why e is invalid, or nil.
func (e Event) Validate() error {
	switch {
	case e.At.IsZero():
		return errors.New("the time is missing")
	case e.Kind == "" || !utf8.ValidString(e.Kind):
		return fmt.Errorf("kind %q is empty or not UTF-8", e.Kind)
	case e.Severity != "low" && e.Severity != "medium" && e.Severity != "high":
		return fmt.Errorf(`severity %q is none of "low", "medium" and "high"`, e.Severity)
	case e.Count < 1:
		return fmt.Errorf("count %d is below 1", e.Count)
	}
	return nil
}
