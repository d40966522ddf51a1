// Package lease decides whether a worker may judge another one to be dead (docs/adr/0048). It does no I/O.
//
// A lease is a row that its worker renews, with times by the database's clock. A worker judges another only by what it
// has seen itself while its own renewals never stopped: then the database could be reached, and the other could have
// renewed as well. It measures each duration on the database's clock and on its host's, and both must agree, so that a
// step of either clock makes no worker look dead.
package lease

import "time"

// The lengths of a lease. The shortest leaves a busy host time to renew.
const (
	Default = 45 * time.Second
	Min     = 3 * time.Second
	Max     = 10 * time.Minute
)

// Every is how often a lease of a length is renewed.
func Every(length time.Duration) time.Duration { return length / 5 }

// MostGap is the longest time between two renewals of a worker that judges others. It is less than a lease: if the
// database was away for as long, the others still have the rest of their lease to renew.
func MostGap(length time.Duration) time.Duration { return length / 2 }

// leases is for how many lengths of a lease a worker must have renewed its own without a gap before it judges another.
// After the database was away, the others may take longer than this worker to connect again.
const leases = 2

// Lease is the row of a worker.
type Lease struct {
	Worker string // as the queue names it
	Host   string
	Length time.Duration
	// By the database's clock. No renewal since Unbroken came late.
	Started, Renewed, Unbroken time.Time
}

// Moment is one moment on two clocks.
type Moment struct {
	Database time.Time
	Host     time.Duration // since some fixed moment, CLOCK_BOOTTIME
}

// between are the shorter and the longer of the two durations from one moment to another.
func between(from, to Moment) (least, most time.Duration) {
	database, host := to.Database.Sub(from.Database), to.Host-from.Host
	return min(database, host), max(database, host)
}

// sighting is a lease and since when it has not been renewed.
type sighting struct {
	lease Lease
	since Moment
}

// Observer is what a worker remembers of its own lease and of others'. Its zero value, with a length, has seen nothing.
type Observer struct {
	Length time.Duration

	first, last Moment // renewals of its own: the first one since a gap, and the last one
	seen        map[string]sighting
}

// Unbroken is when the worker's first renewal since a gap was, by the database's clock.
func (o *Observer) Unbroken() time.Time { return o.first.Database }

// Renewed notes that the worker has renewed its lease, when that was by the host's clock, and the other leases that it
// found. own is its row after that: if Unbroken is not as the worker remembers it, the database had a gap that the
// worker did not notice.
func (o *Observer) Renewed(host time.Duration, own Lease, others []Lease) {
	at := Moment{own.Renewed, host}
	least, most := between(o.last, at)
	if least < 0 || most > MostGap(o.Length) || !own.Unbroken.Equal(o.first.Database) {
		o.first, o.seen = at, nil
	}
	o.last = at
	seen := make(map[string]sighting, len(others))
	for _, lease := range others {
		before, ok := o.seen[lease.Worker]
		if !ok || !before.lease.Renewed.Equal(lease.Renewed) {
			before = sighting{since: at}
		}
		seen[lease.Worker] = sighting{lease, before.since}
	}
	o.seen = seen
}

// Lost notes that the worker's row was missing.
func (o *Observer) Lost() { *o = Observer{Length: o.Length} }

// Dead returns the leases that have run out. Leases shorter than the worker's own are left to others: the worker may have
// had a gap that is long for them.
func (o *Observer) Dead() (dead []Lease) {
	unbroken, _ := between(o.first, o.last)
	for _, s := range o.seen {
		silent, _ := between(s.since, o.last)
		length := s.lease.Length
		if length >= o.Length && silent > length && unbroken > leases*length {
			dead = append(dead, s.lease)
		}
	}
	return dead
}
