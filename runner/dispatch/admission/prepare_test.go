package admission

import (
	"testing"
	"time"
)

func TestStreak(t *testing.T) {
	for _, s := range []streak{belowSecond(), belowMinute()} {
		for i := range s.inRow {
			if s.lasts() {
				t.Errorf("%+v: %d are enough", s, i)
			}
			s.add(s.below - time.Millisecond)
		}
		if !s.lasts() {
			t.Errorf("%+v: %d are not enough", s, s.inRow)
		}
		if s.add(s.below); s.lasts() {
			t.Errorf("%+v: a long one changes nothing", s)
		}
	}
}
