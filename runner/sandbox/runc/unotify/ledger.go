package unotify

import (
	"time"

	"github.com/scidex-ai/scidex-oci/runner/audit"
)

// maxEvents bounds the distinct events kept per run.
const maxEvents = 1000

// maxShown bounds an address in bytes: a path may be as long as its process's directory.
const maxShown = 256

// ledger keeps events, equal ones once.
type ledger struct {
	events []audit.Event
	places map[what]int
	more   int64
}

// what identifies an event.
type what struct {
	kind    audit.Kind
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
	l.events = append(l.events, audit.Event{
		At: at, Kind: tried.kind, Address: []byte(key.address), Severity: tried.severity, Allowed: tried.allowed, Count: 1,
	})
}

// all returns the events by first time; a last one counts those not kept.
func (l *ledger) all(now time.Time) []audit.Event {
	if l.more == 0 {
		return l.events
	}
	return append(l.events, audit.Event{At: now, Kind: audit.More, Severity: audit.Medium, Count: l.more})
}
