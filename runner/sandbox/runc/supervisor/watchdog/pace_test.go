package watchdog

import (
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
)

func TestPacer(t *testing.T) {
	const cost = 10 * time.Millisecond
	start := time.Unix(1000, 0)
	began := supplied(1<<40, 1<<20)
	room := outputs.Extent{Files: 80_000, Bytes: 800 << 20}
	lost := func(bytes, inodes int64) supply {
		return supplied(began.bytes-bytes, began.inodes-inodes)
	}
	for name, c := range map[string]struct {
		looks []supply // the last one decides
		room  outputs.Extent
		whole bool
		busy  bool

		inodes bool // count alone
	}{
		"nothing went":                     {[]supply{began}, room, true, false, false},
		"little went":                      {[]supply{lost(100<<10, 9_000)}, room, true, false, false},
		"what directories of names take":   {[]supply{lost(120_000, 0)}, room, true, true, false},
		"those are no open files":          {[]supply{lost(120_000, 0)}, room, true, false, true},
		"many inodes, of open files":       {[]supply{lost(0, 10_000)}, room, true, true, true},
		"many inodes":                      {[]supply{lost(0, 10_000)}, room, true, true, false},
		"bytes, few left":                  {[]supply{lost(4096, 0)}, outputs.Extent{Files: 80_000, Bytes: 32 << 10}, true, true, false},
		"nothing left":                     {[]supply{began}, outputs.Extent{}, true, true, false},
		"somebody gave back":               {[]supply{lost(-1<<30, -5)}, room, true, false, false},
		"given back, and then taken":       {[]supply{lost(-1<<30, 0), began}, room, true, true, false},
		"something was moved behind it":    {[]supply{began}, room, false, true, false},
		"the file system does not say":     {[]supply{{unknown: true}}, room, true, true, false},
		"taken, and given back by another": {[]supply{lost(1<<30, 0), began}, room, true, false, false},
	} {
		p := pacer{links: !c.inodes}
		if !p.due(start, began) {
			t.Errorf("%s: the first one waits", name)
		}
		p.done(start, cost, began, c.room, c.whole)
		busy, idle := start.Add(restBusy*cost), start.Add(restIdle*cost)
		for _, look := range c.looks[:len(c.looks)-1] {
			p.due(start, look)
		}
		last := c.looks[len(c.looks)-1]
		if p.due(busy.Add(-1), last) {
			t.Errorf("%s: too early", name)
		}
		if got := p.due(busy, last); got != c.busy {
			t.Errorf("%s: busy %v", name, got)
		}
		if !p.due(idle, last) {
			t.Errorf("%s: too late", name)
		}
	}
}

// due reports whether a survey is due.
func (p *pacer) due(now time.Time, free supply) bool {
	wait, _ := p.next(now, free)
	return wait <= 0
}

func supplied(bytes, inodes int64) supply {
	return supply{bytes: bytes, inodes: inodes}
}

// A survey that costs next to nothing is made at each look only while the file system fills up.
func TestPacerIsLazy(t *testing.T) {
	began := supplied(1<<40, 1<<20)
	var p pacer
	p.done(time.Unix(1000, 0), time.Microsecond, began, outputs.Extent{Files: 1000, Bytes: 1 << 20}, true)
	soon, late := time.Unix(1000, 0).Add(look), time.Unix(1000, 0).Add(idle)
	if p.due(soon, began) || !p.due(late, began) || !p.due(soon, supplied(began.bytes-1<<17, began.inodes)) {
		t.Error("it does not wait for something to happen")
	}
}

// Both kinds of surveys together keep the promise of a fifth of a core.
func TestRestsKeepTheShare(t *testing.T) {
	if share := 2.0 / (1 + restBusy); share > 0.2 {
		t.Errorf("surveys take %g of a core", share)
	}
}
