package runner

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/audit"
)

// AuditEvent is something that the analysis tried and that was refused, or a limit that it reached.
type AuditEvent struct {
	At   time.Time `json:"at"` // the first time
	Kind string    `json:"kind"`
	// Address is what it tried: "tcp 127.0.0.1:5432", "unix /run/x", "AF_VSOCK", the name of a limit.
	// Escaped where it is not UTF-8, with the exact bytes beside it.
	Address    string `json:"address"`
	AddressB64 string `json:"address_b64,omitempty"`
	Severity   string `json:"severity"` // "low", "medium", "high"
	Allowed    bool   `json:"allowed"`
	Blocked    bool   `json:"blocked"`
	Count      int64  `json:"count"` // how often
}

// auditMax is how many events a result lists.
const auditMax = 100

// events are the supervisor's, and what the end itself tells.
func (e *execution) events(v verdict) []catalog.Event {
	if !e.plan.audit {
		return nil
	}
	all, at := e.exit.Audit, e.exit.Finished.UTC()
	if e.exit.Finished.IsZero() { // nothing says when, as where the supervisor was lost
		at = e.run.FinishedAt
	}
	for _, name := range e.reached(v) {
		all = append(all, audit.Event{At: at, Kind: audit.Limit, Address: []byte(name), Severity: audit.Low, Count: 1})
	}
	if v.reason == ReasonSignal && v.signal == unix.SignalName(unix.SIGSYS) {
		all = append(all, audit.Event{At: at, Kind: audit.Architecture, Severity: audit.High, Count: 1})
	}
	var events []catalog.Event
	for _, one := range all {
		events = append(events, catalog.Event{
			At: one.At, Kind: string(one.Kind), Address: one.Address, Severity: string(one.Severity),
			Allowed: one.Allowed, Blocked: !one.Allowed, Count: one.Count,
		})
	}
	return events
}

// reached are the limits that the kernel or the clock enforced.
func (e *execution) reached(v verdict) []string {
	var limits []string
	if e.report.Evidence.OOMKills > 0 {
		limits = append(limits, "memory")
	}
	if e.report.Evidence.PidsDenied > 0 {
		limits = append(limits, "pids")
	}
	if v.reason == ReasonTimeout {
		limits = append(limits, "timeout")
	}
	return limits
}

// listEvents puts events into a result.
func (r *Result) listEvents(events []catalog.Event) {
	r.AuditTotal = len(events)
	r.Audit = []AuditEvent{}
	for _, e := range events[:min(len(events), auditMax)] {
		address, exact := showPath(e.Address)
		r.Audit = append(r.Audit, AuditEvent{
			At: e.At.UTC().Truncate(time.Millisecond), Kind: e.Kind, Address: address, AddressB64: exact,
			Severity: e.Severity, Allowed: e.Allowed, Blocked: e.Blocked, Count: e.Count,
		})
	}
}
