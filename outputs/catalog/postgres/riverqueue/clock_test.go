package riverqueue

import (
	"testing"
	"time"
)

func TestOffBy(t *testing.T) {
	before := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	after := before.Add(time.Minute) // a slow answer
	for there, want := range map[time.Duration]time.Duration{
		0: 0, 30 * time.Second: 0, time.Minute: 0, -time.Second: time.Second, 3 * time.Minute: -2 * time.Minute,
	} {
		if got := offBy(before, before.Add(there), after); got != want {
			t.Errorf("read %v after: %v, want %v", there, got, want)
		}
	}
}
