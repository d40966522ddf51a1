package main

import (
	"testing"
	"time"
)

// --at takes a time of the future or of the past, or how long from now, and tells them apart by the plus.
func TestStartOf(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"+2h": 2 * time.Hour, "+7d": 7 * 24 * time.Hour, "+0s": 0, "2026-01-31": 0, "2026-01-31T12:00:00Z": 0,
		"2h": -1, "7d": -1, "+2026-01-31": -1, "+-2h": -1, "-2h": -1, "": -1, "+": -1, "noon": -1,
	} {
		at, after, err := startOf(text)
		if (err != nil) != (want < 0) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if err == nil && (after-want).Abs() > 2*time.Hour || at.IsZero() == (text[:min(1, len(text))] == "2") && err == nil { // a change of the clocks
			t.Errorf("%q: at %v, after %v", text, at, after)
		}
	}
}
