package judge

import (
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// endedByStop reports whether a stop request ended the run. It did not if the kernel's out-of-memory killer sent a SIGKILL
// before scidex-oci sent one: after a kill in a unit, systemd at once sends SIGTERM to the rest of the unit, which looks like
// a stop (OOMPolicy=, systemd.service(5); before version 253 in scopes too).
func (e ending) endedByStop() bool {
	if e.Stopped == nil || e.Report.Evidence.OOMKills == 0 || e.Forced {
		return e.Stopped != nil
	}
	graceOver := e.Exit.Finished.Sub(e.StoppedAt) >= time.Duration(e.Analysis.Grace)
	return graceOver || e.signal() != "SIGKILL"
}

// memoryWarnings warns of kills for lack of memory, and of a stop, if the run did not end for that reason.
func (e ending) memoryWarnings(o outcome.Outcome) []string {
	kills := e.Report.Evidence.OOMKills
	switch {
	case kills == 0:
		return nil
	case o.Reason == outcome.ReasonOutOfMemory && e.Stopped != nil:
		return []string{fmt.Sprintf("%s came as well, when the kernel had killed", e.Stopped.Name)}
	case o.Reason == outcome.ReasonOutOfMemory:
		return nil
	}
	warning := fmt.Sprintf("the kernel killed %s of the run for lack of memory", format.Count(kills, "process", "processes"))
	if o.State == outcome.Complete {
		warning += ", and the analysis went on"
	}
	return []string{warning}
}
