package unotify

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/audit"
)

func TestLedger(t *testing.T) {
	var l ledger
	start := time.Unix(1000, 0)
	for i := range 3 {
		l.note(start.Add(time.Duration(i)), attempt{kind: audit.Connect, address: "a", severity: audit.High})
	}
	l.note(start, attempt{kind: audit.Socket, address: "a", severity: audit.Low})
	if got := l.all(start); len(got) != 2 || got[0].Count != 3 || !got[0].At.Equal(start) || got[1].Kind != audit.Socket {
		t.Errorf("%+v", got)
	}
	for i := range 2 * maxEvents {
		l.note(start, attempt{kind: audit.Connect, address: strconv.Itoa(i)})
	}
	got := l.all(start)
	if last := got[len(got)-1]; len(got) != maxEvents+1 || last.Kind != audit.More || last.Count != maxEvents+2 {
		t.Errorf("%d events, the last %+v", len(got), last)
	}
}

// TestLedgerTrims: a path may have a directory before it that is as long as its process wants it.
func TestLedgerTrims(t *testing.T) {
	var l ledger
	long := strings.Repeat("x", maxShown)
	for _, end := range []string{"1", "2"} {
		l.note(time.Unix(1000, 0), attempt{kind: audit.Connect, address: long + end})
	}
	if got := l.all(time.Time{}); len(got) != 1 || string(got[0].Address) != long || got[0].Count != 2 {
		t.Errorf("%+v", got)
	}
}

// TestPace: whoever works all the time gets the burst, and then a part of the time.
func TestPace(t *testing.T) {
	var p pace
	now, used := time.Unix(1000, 0), time.Duration(0)
	const work = 50 * time.Microsecond
	for used < burst {
		now, used = now.Add(work), used+work
		if rest := p.rest(now, used); rest != 0 {
			t.Fatalf("rests %v within the burst", rest)
		}
	}
	began, before := now, used
	for range 20_000 {
		now, used = now.Add(work), used+work
		now = now.Add(p.rest(now, used))
	}
	share := float64(used-before) / float64(now.Sub(began))
	if share < 0.09 || share > 0.16 { // what is left of the burst is in it
		t.Errorf("works %.2f of the time, want a tenth", share)
	}
	if rest := p.rest(now.Add(part*burst), used); rest != 0 {
		t.Errorf("rests %v after a long pause", rest)
	}
	if rest := p.rest(now.Add(part*burst), used+2*burst); rest < part*burst {
		t.Errorf("rests %v after one long question", rest)
	}
}
