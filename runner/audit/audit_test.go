package audit

import (
	"fmt"
	"testing"
	"time"
)

func TestLedger(t *testing.T) {
	var l ledger
	start := time.Unix(1000, 0)
	for i := range 3 {
		l.note(start.Add(time.Duration(i)), Connect, []byte("a"), High)
	}
	l.note(start, Socket, []byte("a"), Low)
	if got := l.all(start); len(got) != 2 || got[0].Count != 3 || !got[0].At.Equal(start) || got[1].Kind != Socket {
		t.Errorf("%+v", got)
	}
	for i := range 2 * maxEvents {
		l.note(start, Connect, fmt.Appendf(nil, "%d", i), Medium)
	}
	got := l.all(start)
	if last := got[len(got)-1]; len(got) != maxEvents+1 || last.Kind != More || last.Count != maxEvents+2 {
		t.Errorf("%d events, the last %+v", len(got), last)
	}
}

func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	for range burst {
		if wait := p.next(now); wait != 0 {
			t.Fatalf("waits %v within the burst", wait)
		}
	}
	// Whoever waits as told is answered at the rate.
	began := now
	for range rate {
		now = now.Add(p.next(now))
	}
	if took := now.Sub(began); took < 900*time.Millisecond || took > 1100*time.Millisecond {
		t.Errorf("%d answers took %v, want a second", rate, took)
	}
	if wait := p.next(now.Add(burst / rate * time.Second)); wait != 0 {
		t.Errorf("waits %v after a rest", wait)
	}
}
