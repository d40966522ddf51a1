// Package audit sees what an analysis tries to reach and may not, through seccomp user notification
// (seccomp_unotify(2)): the kernel asks before connect(2), sendto(2) with an address, and sockets of
// families that are not allowed.
//
// It only looks. Every call goes on and is the kernel's to decide, in an empty network namespace and on
// read-only overlays, so that an analysis sees the same with an audit and without, and so that a hole in these
// walls is not hidden from selftest. Between the look and the call a thread can change the address; it reaches
// no more by that. Families alone are refused here, since going on would make the socket. When nobody answers, the
// kernel says ENOSYS; a watch that fails has its analysis killed.
package audit

import "time"

// Event is something that was tried, once or more often.
type Event struct {
	At       time.Time `json:"at"` // the first time
	Kind     Kind      `json:"kind"`
	Address  []byte    `json:"address"` // "tcp 192.0.2.1:80", "unix /run/x", "unix @abstract", "AF_VSOCK"; any bytes
	Severity Severity  `json:"severity"`
	// Allowed says that nothing is known that keeps it from happening; else something does.
	Allowed bool  `json:"allowed,omitempty"`
	Count   int64 `json:"count"`
}

// Kind of an event.
type Kind string

// The kinds. Limit and Architecture are the launcher's to say.
const (
	Connect      Kind = "connect"      // an address that is not the run's own: connect(2), or sendto(2) with one
	Socket       Kind = "socket"       // a socket family that is not allowed
	Limit        Kind = "limit"        // a limit was reached
	Architecture Kind = "architecture" // the analysis died of SIGSYS, as for a call of a foreign architecture
	More         Kind = "more"         // further events that were not kept; Count says how many
)

// Severity of an event.
type Severity string

// The severities.
const (
	Low    Severity = "low"    // libraries do this by themselves, or a limit did its work
	Medium Severity = "medium" // no ordinary analysis does this
	High   Severity = "high"   // PostgreSQL, or code that is not of this machine
)

// maxEvents bounds the distinct events of one run that are kept.
const maxEvents = 1000

// maxShown bounds an address that is kept, in bytes: a path may be as long as its process' directory.
const maxShown = 256

// ledger keeps events, equal ones once.
type ledger struct {
	events []Event
	places map[what]int
	more   int64
}

// what makes two events the same.
type what struct {
	kind    Kind
	address string
}

func (l *ledger) note(at time.Time, tried attempt) {
	if l.places == nil {
		l.places = map[what]int{}
	}
	key := what{tried.kind, tried.address[:min(len(tried.address), maxShown)]}
	if i, ok := l.places[key]; ok {
		l.events[i].Count++
		return
	}
	if len(l.events) == maxEvents {
		l.more++
		return
	}
	l.places[key] = len(l.events)
	l.events = append(l.events, Event{
		At: at, Kind: tried.kind, Address: []byte(key.address), Severity: tried.severity, Allowed: tried.allowed, Count: 1,
	})
}

// all returns the events in the order of their first time; a last one counts what was not kept.
func (l *ledger) all(now time.Time) []Event {
	if l.more == 0 {
		return l.events
	}
	return append(l.events, Event{At: now, Kind: More, Severity: Medium, Count: l.more})
}
