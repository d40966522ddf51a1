package options

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	tests := map[string]string{
		"2026-01-31T10:00:00+02:00": "2026-01-31T08:00:00Z", "2026-01-31": "2026-01-31T00:00:00Z",
		"7d": "2026-03-03T12:00:00Z", "2w": "2026-02-24T12:00:00Z", "12h": "2026-03-10T00:00:00Z", "1h30m": "2026-03-10T10:30:00Z",
		"yesterday": "", "-7d": "", "-1h": "", "": "", "7": "", "999999d": "",
	}
	for text, want := range tests {
		got, ok := parseTime(text, now)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("parseTime(%q) = %v, %v, want %q", text, got, ok, want)
		}
	}
}

// --at takes a time of the future or of the past, or how long from now, and tells them apart by the plus.
func TestStartOf(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"+2h": 2 * time.Hour, "+7d": 7 * 24 * time.Hour, "+0s": 0, "2026-01-31": 0, "2026-01-31T12:00:00Z": 0,
		"2h": -1, "7d": -1, "+2026-01-31": -1, "+-2h": -1, "-2h": -1, "": -1, "+": -1, "noon": -1,
	} {
		start, err := startOf(Text{Value: text})
		at, after := start.At, start.After
		if (err != nil) != (want < 0) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if err == nil && (after-want).Abs() > 2*time.Hour || at.IsZero() == (text[:min(1, len(text))] == "2") && err == nil { // a change of the clocks
			t.Errorf("%q: at %v, after %v", text, at, after)
		}
	}
}
