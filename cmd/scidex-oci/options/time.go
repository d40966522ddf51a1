package options

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Moment is a time, absolute or relative to now.
type Moment struct{ text Text }

// Time makes the flag of a time.
func Time(to *Moment, name, usage string) *Flag { return Given(&to.text, name, usage) }

// At is the time, given now; the zero time if none was given.
func (m Moment) At(now time.Time) (time.Time, error) {
	if !m.text.Given {
		return time.Time{}, nil
	}
	t, ok := parseTime(m.text.Value, now)
	if !ok {
		return t, m.text.Refuse("give a time as 2026-01-31T12:00:00Z, a date as 2026-01-31, or how long ago as 7d or 12h")
	}
	return t, nil
}

// Start is the earliest start: a time, or a delay by another clock.
type Start struct {
	At    time.Time
	After time.Duration
}

// Begin makes the flag of a start.
func Begin(to *Start, name, usage string) *Flag { return Value(to, name, usage, startOf) }

func startOf(t Text) (Start, error) {
	now := time.Now()
	length, relative := strings.CutPrefix(t.Value, "+")
	then, ok := parseTime(length, now) // durations are before now
	_, err := time.ParseDuration(length)
	isLength := err == nil || days().MatchString(length)
	switch {
	case !ok || relative != isLength:
		return Start{}, t.Refuse("give a time as 2026-01-31T12:00:00Z, a date as 2026-01-31, or how long from now as +2h or +7d")
	case relative:
		return Start{After: now.Sub(then)}, nil
	}
	return Start{At: then}, nil
}

// days is compiled on first use: this program starts several times for every run.
var days = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,5})([dw])$`) })

// parseTime parses RFC 3339, a date in now's time zone, or a duration before now.
func parseTime(text string, now time.Time) (time.Time, bool) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, true
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return t, true
	}
	if m := days().FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // the expression admits digits only
		if m[2] == "w" {
			n *= 7
		}
		return now.AddDate(0, 0, -n), true
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	return time.Time{}, false
}
