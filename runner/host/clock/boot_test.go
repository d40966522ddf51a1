package clock

import (
	"testing"
	"time"
)

// A moment of another process is one of this process's monotonic clock, and keeps its distance to others.
func TestAt(t *testing.T) {
	before := time.Now()
	boot := Boot()
	at := At(boot)
	if boot <= 0 || at.Before(before) {
		t.Errorf("at %v after the boot it was %v, and before that %v", boot, at, before)
	}
	origin := before.Add(-time.Hour)
	if got := After(origin, before); got.Sub(origin) != time.Hour || !got.Equal(before) {
		t.Errorf("an hour after %v is %v", origin, got)
	}
}
