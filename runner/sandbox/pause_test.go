package sandbox

import (
	"os"
	"path/filepath"
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

// TestCountRunning: threads count, names do not deceive, and init is not asked.
func TestCountRunning(t *testing.T) {
	proc := t.TempDir()
	for task, state := range map[string]string{
		"1/task/1": "S", // init
		"9/task/9": "T", "9/task/10": "R", "11/task/11": "S", "17/task/17": "t", "18/task/18": "D", "19/task/19": "Z", "72/task/72": "R",
	} {
		dir := filepath.Join(proc, task)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte("9 (a) T (b) "+state+" 1 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := countRunning(proc); got != 3 || err != nil {
		t.Errorf("%d run (%v), want 3", got, err)
	}
}
