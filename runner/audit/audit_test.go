package audit

import (
	"bufio"
	"fmt"
	"strings"
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

func TestHasPort(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0100007F:0050 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
`
	for _, c := range []struct {
		port  uint16
		state string
		want  bool
	}{{5432, "0A", true}, {80, "0A", false}, {80, "", true}, {40000, "", false}, {56, "", false}} {
		if got := hasPort(bufio.NewScanner(strings.NewReader(table)), c.port, c.state); got != c.want {
			t.Errorf("port %d in state %q: %v", c.port, c.state, got)
		}
	}
}
