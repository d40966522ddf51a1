package lease

import (
	"slices"
	"testing"
	"time"
)

// renewal is one of the worker that judges: seconds on the two clocks, and what is found with it.
type renewal struct {
	database, host int
	unbroken       int // of its own row; -1: as it remembers it
	other          int // when the other worker renewed last; -1: it has no row
}

// every are renewals every nine seconds on both clocks, from one second to another, with another worker that is silent.
func every(from, to, other int) (all []renewal) {
	for at := from; at <= to; at += 9 {
		all = append(all, renewal{at, at, -1, other})
	}
	return all
}

// moved are renewals after the database's clock was set by some seconds.
func moved(all []renewal, database int) (set []renewal) {
	for _, r := range all {
		set = append(set, renewal{r.database + database, r.host, -1, r.other})
	}
	return set
}

func at(seconds int) time.Time { return time.Unix(1_000_000+int64(seconds), 0) }

// With leases of 45 s a worker judges another that was silent for longer than one, while its own was renewed all the time, for 90 s
// at least.
func TestDead(t *testing.T) {
	live := func(all []renewal) []renewal { // the other renews as well
		own := slices.Clone(all)
		for i := range own {
			own[i].other = own[i].database - 4
		}
		return own
	}
	for _, c := range []struct {
		name     string
		renewals []renewal
		dead     bool
	}{
		{"dead before the first look", every(0, 99, -1000), true},
		{"not before two leases", every(0, 90, -1000), false},
		{"dead after many renewals", slices.Concat(live(every(0, 900, 0)), every(909, 963, 905)), true},
		{"silent for one lease", slices.Concat(live(every(0, 900, 0)), every(909, 954, 905)), false},
		{"alive", live(every(0, 900, 0)), false},
		{"without a row", every(0, 900, -1), false},
		{"the database was away for ten minutes", slices.Concat(live(every(0, 900, 0)), every(1500, 1590, 896)), false},
		{"and the other stays silent", slices.Concat(live(every(0, 900, 0)), every(1500, 1599, 896)), true},
		{"it was away for half a lease", slices.Concat(live(every(0, 900, 0)), every(923, 1013, 896)), false},
		{"and for less", slices.Concat(live(every(0, 900, 0)), every(922, 967, 896)), true},
		{"the judging host was suspended", slices.Concat(live(every(0, 900, 0)), moved(every(1500, 1590, 905), -590)), false},
		{"the database's clock is set forward", slices.Concat(live(every(0, 900, 0)), moved(every(909, 999, 896), 3600)), false},
		{"and back", slices.Concat(live(every(0, 900, 0)), moved(every(909, 999, 896), -3600)), false},
		{"the other stays silent by a clock that was set back", slices.Concat(live(every(0, 900, 0)), moved(every(909, 1008, 896), -3600)), true},
		{"the database's clock runs too fast", func() []renewal {
			all := live(every(0, 900, 0))
			for i := 1; i <= 5; i++ {
				all = append(all, renewal{900 + 20*i, 900 + 9*i, -1, 896})
			}
			return all
		}(), false},
		{"a standby with an older row of its own took over", slices.Concat(live(every(0, 900, 0)), []renewal{{909, 909, 909, 700}}, every(918, 999, 700)), false},
		{"and the other stays silent", slices.Concat(live(every(0, 900, 0)), []renewal{{909, 909, 909, 700}}, every(918, 1008, 700)), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := observed(c.renewals); got != c.dead {
				t.Errorf("dead: %v, want %v", got, c.dead)
			}
		})
	}
}

// observed reports whether the last of the renewals finds the other worker dead.
func observed(all []renewal) bool {
	o := Observer{Length: Default}
	for _, r := range all {
		own := Lease{Renewed: at(r.database), Unbroken: o.Unbroken()}
		if r.unbroken >= 0 {
			own.Unbroken = at(r.unbroken)
		}
		var others []Lease
		if r.other != -1 {
			others = []Lease{{Worker: "other", Length: Default, Renewed: at(r.other)}}
		}
		o.Renewed(time.Duration(r.host)*time.Second, own, others)
	}
	return len(o.Dead()) > 0
}

// A worker does not judge leases shorter than its own: a gap of its own may be short for it and long for them.
func TestDeadByLength(t *testing.T) {
	for length, want := range map[time.Duration]bool{Default - 1: false, Default: true, 2 * Default: true} {
		o := Observer{Length: Default}
		for now := 0; now <= 1000; now += 9 {
			o.Renewed(time.Duration(now)*time.Second, Lease{Renewed: at(now), Unbroken: o.Unbroken()}, []Lease{{Worker: "other", Length: length}})
		}
		if dead := len(o.Dead()) > 0; dead != want {
			t.Errorf("a lease of %v is dead: %v, want %v", length, dead, want)
		}
	}
}

// A worker that has lost its row starts watching again.
func TestLost(t *testing.T) {
	o := Observer{Length: Default}
	renew := func(from, to int) {
		for now := from; now <= to; now += 9 {
			o.Renewed(time.Duration(now)*time.Second, Lease{Renewed: at(now), Unbroken: o.Unbroken()}, []Lease{{Worker: "other", Length: Default}})
		}
	}
	renew(0, 900)
	if len(o.Dead()) != 1 {
		t.Fatal("it judges nothing")
	}
	o.Lost()
	renew(909, 999)
	if dead := o.Dead(); len(dead) != 0 {
		t.Errorf("it judges %+v by what it saw before", dead)
	}
}
