package catalog

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// The refusal names what is wrong; a dialect's own checks come after it.
func TestValidate(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	document := json.RawMessage(`{}`)
	tests := []struct {
		name string
		row  interface{ Validate() error }
		want string // a part of the error, or empty for none
	}{
		{"event", Event{At: now, Kind: "connect", Severity: "high", Count: 1}, ""},
		{"event without a time", Event{Kind: "connect", Severity: "high", Count: 1}, "time"},
		{"event without a kind", Event{At: now, Severity: "low", Count: 1}, "kind"},
		{"kind that is no text", Event{At: now, Kind: "\xff", Severity: "low", Count: 1}, `"\xff"`},
		{"unknown severity", Event{At: now, Kind: "connect", Severity: "High", Count: 1}, `severity "High"`},
		{"event that was never seen", Event{At: now, Kind: "connect", Severity: "medium"}, "count 0"},
		{"selftest", Selftest{At: now, Report: document}, ""},
		{"selftest without a time", Selftest{Report: document}, "time"},
		{"selftest without a report", Selftest{At: now}, "report"},
		{"broken report", Selftest{At: now, Report: json.RawMessage(`{`)}, "report"},
		{"report that is no text", Selftest{At: now, Report: json.RawMessage("\"\xff\"")}, "report"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.row.Validate()
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate = %v, want an error that says %q", err, tt.want)
			}
		})
	}
}
