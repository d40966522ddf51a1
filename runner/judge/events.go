package judge

import (
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/audit"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// events are those of the supervisor, and those of the end.
func events(e phase.Ended, o outcome.Outcome, finished time.Time) []catalog.Event {
	if !e.Audit {
		return nil
	}
	all, at := e.Exit.Audit, e.Exit.Finished.UTC()
	if e.Exit.Finished.IsZero() { // not known, as of a run that lost its supervisor
		at = finished
	}
	for _, name := range reached(e, o) {
		all = append(all, audit.Event{At: at, Kind: audit.Limit, Address: []byte(name), Severity: audit.Low, Count: 1})
	}
	if o.Reason == outcome.ReasonSignal && o.Signal == "SIGSYS" {
		all = append(all, audit.Event{At: at, Kind: audit.Architecture, Severity: audit.High, Count: 1})
	}
	all = append(all, asked(e.Report.Requests)...)
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
func reached(e phase.Ended, o outcome.Outcome) []string {
	var limits []string
	if e.Report.Evidence.OOMKills > 0 {
		limits = append(limits, "memory")
	}
	if e.Report.Evidence.PidsDenied > 0 {
		limits = append(limits, "pids")
	}
	if o.Reason == outcome.ReasonTimeout {
		limits = append(limits, "timeout")
	}
	return limits
}
