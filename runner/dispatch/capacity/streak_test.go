package capacity

import (
	"testing"
	"time"
)

func TestStreak(t *testing.T) {
	for _, s := range []Streak{Short(), Brief()} {
		for i := range s.InRow {
			if s.Lasts() {
				t.Errorf("%+v: %d are enough", s, i)
			}
			s.Add(s.Below - time.Millisecond)
		}
		if !s.Lasts() {
			t.Errorf("%+v: %d are not enough", s, s.InRow)
		}
		if s.Add(s.Below); s.Lasts() {
			t.Errorf("%+v: a long one changes nothing", s)
		}
	}
}

func TestIdle(t *testing.T) {
	c := Capacity{Memory: 8 << 30, CPUs: 4}
	for _, test := range []struct {
		jobs   int
		memory int64
		cpus   float64
		want   int
	}{
		{1, 2 << 30, 1, 3}, {4, 2 << 30, 1, 0}, {5, 2 << 30, 1, 0}, {1, 4 << 30, 1, 1}, {1, 1 << 30, 4, 0}, {2, 1 << 30, 0.5, 6}, {1, 9 << 30, 1, 0},
	} {
		if got := c.Idle(test.jobs, test.memory, test.cpus); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
	if got := (Capacity{}).Idle(1, 1, 1); got != 0 {
		t.Errorf("of an unknown capacity %d are idle", got)
	}
}
