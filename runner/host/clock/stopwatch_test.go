package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestStopwatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Stopwatch
		expect := func(ran, stood time.Duration) {
			t.Helper()
			if s.Ran() != ran || s.Stood() != stood {
				t.Errorf("ran %v, stood %v; want %v and %v", s.Ran(), s.Stood(), ran, stood)
			}
		}
		expect(0, 0)
		s.Start(time.Now())
		time.Sleep(3 * time.Second)
		expect(3*time.Second, 0)
		if !s.Pause() || s.Pause() || !s.Standing() {
			t.Error("it is paused once")
		}
		time.Sleep(time.Hour)
		expect(3*time.Second, time.Hour)
		if !s.Resume() || s.Resume() || s.Standing() {
			t.Error("it goes on once")
		}
		time.Sleep(time.Second)
		expect(4*time.Second, time.Hour)
	})
}
