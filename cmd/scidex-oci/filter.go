package main

import (
	"strconv"
	"time"
)

var days = pattern(`^([0-9]{1,5})([dw])$`)

// parseTime reads RFC 3339, a date of the zone that now is in, or a length of time before now.
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
