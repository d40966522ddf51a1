package runner

import (
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/audit"
	"github.com/scidex-ai/scidex-oci/runner/judge"
)

// events are the supervisor's, and what the end itself tells.
func (e *execution) events(v judge.Outcome) []catalog.Event {
	if !e.plan.Audit {
		return nil
	}
	all, at := e.exit.Audit, e.exit.Finished.UTC()
	if e.exit.Finished.IsZero() { // nothing says when, as where the supervisor was lost
		at = e.run.FinishedAt
	}
	for _, name := range e.reached(v) {
		all = append(all, audit.Event{At: at, Kind: audit.Limit, Address: []byte(name), Severity: audit.Low, Count: 1})
	}
	if v.Reason == result.ReasonSignal && v.Signal == unix.SignalName(unix.SIGSYS) {
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
func (e *execution) reached(v judge.Outcome) []string {
	var limits []string
	if e.report.Evidence.OOMKills > 0 {
		limits = append(limits, "memory")
	}
	if e.report.Evidence.PidsDenied > 0 {
		limits = append(limits, "pids")
	}
	if v.Reason == result.ReasonTimeout {
		limits = append(limits, "timeout")
	}
	return limits
}
