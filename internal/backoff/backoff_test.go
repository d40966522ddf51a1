package backoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	b := Backoff{First: 8 * time.Millisecond, Longest: 50 * time.Millisecond}
	for range 2 {
		for _, want := range []time.Duration{8, 16, 32, 50, 50, 50} {
			whole := want * time.Millisecond
			if got := b.Next(); got < whole/2 || got > whole {
				t.Errorf("a pause of %v, not of %v to %v", got, whole/2, whole)
			}
		}
		b.Reset()
	}
}

func TestPausesWithoutALongest(t *testing.T) {
	b := Backoff{First: time.Second}
	for want := time.Second; want < time.Hour; want *= 2 {
		if got := b.Next(); got < want/2 || got > want {
			t.Errorf("a pause of %v, not of %v to %v", got, want/2, want)
		}
	}
}

func TestDoubled(t *testing.T) {
	for times, want := range map[int]time.Duration{-1: 1, 0: 1, 1: 2, 3: 8, 5: 32, 6: 60, 1000: 60} {
		if got := Doubled(time.Second, time.Minute, times); got != want*time.Second {
			t.Errorf("doubled %d times it is %v, want %v", times, got, want*time.Second)
		}
	}
}

func TestPausesAreRandom(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		seen[(&Backoff{First: time.Hour}).Next()] = true
	}
	if len(seen) < 50 {
		t.Errorf("%d of 100 pauses differ", len(seen))
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if b := (Backoff{First: time.Minute}); !b.Wait(t.Context()) {
			t.Error("it did not wait")
		}
		if took := time.Since(began); took < 30*time.Second || took > time.Minute {
			t.Errorf("it waited %v", took)
		}
		began = time.Now()
		if b := (Backoff{First: time.Minute}); !b.WaitAtLeast(t.Context(), time.Hour) || time.Since(began) != time.Hour {
			t.Errorf("it waited %v, not an hour", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if b := (Backoff{First: time.Minute}); b.Wait(ctx) || time.Since(began) != time.Second {
			t.Errorf("it went on for %v after the end of its context", time.Since(began))
		}
	})
}
