package runner

import (
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// endedByStop is the user's wish to stop, where that has ended the run: not where the kernel's out-of-memory
// killer has, with a SIGKILL before we sent any. Where it strikes in a unit of systemd's, systemd at once asks all
// that is left of the unit to end (OOMPolicy=, systemd.service(5); before version 253 of scopes, too).
func (e *execution) endedByStop() *StopSignal {
	if e.stopped == nil || e.report.Evidence.OOMKills == 0 || e.insisted {
		return e.stopped
	}
	ours := e.exit.Finished.Sub(e.stoppedAt) >= time.Duration(e.plan.analysis.Grace)
	if ours || (ending{exit: e.exit}).signal() != "SIGKILL" {
		return e.stopped
	}
	return nil
}

// memoryWarnings are about kills that are not the reason, and stops that are not.
func (e *execution) memoryWarnings(v verdict) []string {
	kills := e.report.Evidence.OOMKills
	switch {
	case kills == 0:
		return nil
	case v.reason == result.ReasonOutOfMemory && e.stopped != nil:
		return []string{fmt.Sprintf("%s came as well, when the kernel had killed", e.stopped.Name)}
	case v.reason == result.ReasonOutOfMemory:
		return nil
	}
	warning := fmt.Sprintf("the kernel killed %s of the run for lack of memory", count(kills, "process", "processes"))
	if v.state == catalog.Complete {
		warning += ", and the analysis went on"
	}
	return []string{warning}
}
