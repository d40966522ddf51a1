// Package audit records what an analysis tries to reach and may not, through seccomp user notification
// (seccomp_unotify(2)): the kernel asks before connect(2), sendto(2) with an address, and sockets of families that are
// not allowed.
//
// It only records. Every call continues and the kernel decides, in an empty network namespace and on read-only overlays,
// so that an analysis sees the same with and without an audit, and selftest sees any hole. A thread can change the
// address between the check and the call, but reaches no more. Only families are refused here, since the call would make
// the socket. Without an answer the kernel returns ENOSYS; if a watch fails, its analysis is killed.
package audit

import "time"

// Event is an attempt, made once or more often.
type Event struct {
	At       time.Time `json:"at"` // the first time
	Kind     Kind      `json:"kind"`
	Address  []byte    `json:"address"` // "tcp 192.0.2.1:80", "unix /run/x", "unix @abstract", "AF_VSOCK"; any bytes
	Severity Severity  `json:"severity"`
	// Allowed says that nothing is known to prevent it.
	Allowed bool  `json:"allowed,omitempty"`
	Count   int64 `json:"count"`
}

// Kind of an event.
type Kind string

// The kinds. The launcher reports Limit, Architecture and Request.
const (
	Connect      Kind = "connect"      // an address outside the run: connect(2), or sendto(2) with one
	Socket       Kind = "socket"       // a forbidden socket family
	Limit        Kind = "limit"        // a limit was reached
	Architecture Kind = "architecture" // the analysis died of SIGSYS, as by a call of a foreign architecture
	Request      Kind = "request"      // one to a host, through the run's proxy
	More         Kind = "more"         // further events, not kept; Count is their number
)

// Severity of an event.
type Severity string

// The severities.
const (
	Low    Severity = "low"    // a library's habit, or a limit that worked
	Medium Severity = "medium" // no ordinary analysis does this
	High   Severity = "high"   // PostgreSQL, or code that is not of this machine
)

// maxEvents bounds the distinct events kept per run.
const maxEvents = 1000

// maxShown bounds an address in bytes: a path may be as long as its process's directory.
const maxShown = 256

// ledger keeps events, equal ones once.
type ledger struct {
	events []Event
	places map[what]int
	more   int64
}

// what identifies an event.
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

// all returns the events by first time; a last one counts those not kept.
func (l *ledger) all(now time.Time) []Event {
	if l.more == 0 {
		return l.events
	}
	return append(l.events, Event{At: now, Kind: More, Severity: Medium, Count: l.more})
}
