package catalog

import (
	"testing"
	"time"
)

// A run does not end before it was created or started, whichever clocks these times are from.
func TestEndsNow(t *testing.T) {
	later := time.Now().Add(240 * time.Hour).UTC()
	for name, run := range map[string]Run{"created": {CreatedAt: later}, "started": {StartedAt: later, CreatedAt: later.Add(-time.Hour)}} {
		if got := run.EndsNow(); !got.Equal(later) {
			t.Errorf("%s at %v, it ends at %v", name, later, got)
		}
	}
	if got := (Run{CreatedAt: later.Add(-480 * time.Hour)}).EndsNow(); got.After(later) || got.Before(later.Add(-480*time.Hour)) {
		t.Errorf("it ends at %v", got)
	}
}
