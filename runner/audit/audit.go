// Package audit has the events of a run's audit: what the analysis tried to reach and may not, and limits that it reached. How a sandbox
// notices an attempt is its own matter.
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
