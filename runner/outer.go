package runner

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/host/threads"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/spec"
)

// outerHold is what others' control groups limit in a run with --limits outer.
type outerHold struct {
	groups *cgroup.Outer
	held   cgroup.Held
}

// holdOuter reads the limits of all groups around a container at its gate.
func (e *execution) holdOuter(pid int) {
	groups := cgroup.FindOuter(cgroup.System{}, pid)
	e.outer = &outerHold{groups, groups.Held()}
	e.report.Enforced = outerEnforced(e.plan.Analysis, e.outer.held)
	e.report.Warnings = append(e.report.Warnings, outerWarnings(e.plan.Analysis, e.outer.held)...)
	threads.Reserve()
	launcher := os.Getpid()
	if !e.launched.Alone() { // whose other runs are its descendants, too
		launcher = cgroup.Nobody
	}
	groups.Watch(launcher)
}

// outerEnforced is enforced for a run whose memory, CPUs and processes someone else's groups limit, or none. There is no
// rlimit on memory or processes besides (spec, withRlimits).
func outerEnforced(a spec.Analysis, held cgroup.Held) []result.Enforcement {
	list := plan.Enforced(a, nil)
	for i, effective := range []string{
		strconv.FormatInt(held.Memory, 10), plan.Number(held.CPUs), strconv.FormatInt(held.Pids, 10),
	} {
		list[i].Effective, list[i].By = effective, result.ByOuter
		if effective == "0" {
			list[i].Effective, list[i].By = "", result.ByNone
		}
	}
	return list
}

// outerWarnings says which limits are not enforced, and which are lower than requested.
func outerWarnings(a spec.Analysis, held cgroup.Held) []string {
	var warnings []string
	for _, l := range []struct {
		limit       string
		asked, held float64
		unit        string
	}{
		{"memory", float64(a.Memory), float64(held.Memory), "bytes of memory"},
		{"cpus", a.CPUs, held.CPUs, "CPUs"},
		{"pids", float64(a.Pids), float64(held.Pids), "processes"},
	} {
		asked, effective := plainNumber(l.asked), plainNumber(l.held)
		switch {
		case l.held == 0 && held.Why[l.limit] != nil:
			warnings = append(warnings, fmt.Sprintf("outer: nothing is known to hold the limit of %s %s: %v", asked, l.unit, held.Why[l.limit]))
		case l.held == 0:
			warnings = append(warnings, fmt.Sprintf("outer: nothing holds the limit of %s %s: no control group around this run that can be seen has one", asked, l.unit))
		case l.held > l.asked:
			warnings = append(warnings, fmt.Sprintf("outer: the control groups around this run allow %s %s, more than the %s asked for", effective, l.unit, asked))
		}
	}
	if held.CPUSet {
		warnings = append(warnings, fmt.Sprintf("outer: no quota below it, but a set of CPUs (cpuset) holds the limit of %s CPUs", plan.Number(held.CPUs)))
	}
	if held.Swapping {
		warnings = append(warnings, "outer: "+swapWarning)
	}
	return warnings
}

// swapWarning is for a host with swap that no limit counts.
const swapWarning = "the memory limit does not hold swap, and this host has some: the analysis can take more than its limit in all"

func plainNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// collectOuter reads the groups' counters. What others may have caused is a warning and no evidence.
func (e *execution) collectOuter() {
	ours, shared := e.outer.groups.Evidence()
	e.report.Evidence = evidenceOf(ours, 0)
	if warning := sharedWarning(shared); warning != "" {
		e.report.Warnings = append(e.report.Warnings, warning)
	}
	if now := e.outer.groups.Held(); now.Limits != e.outer.held.Limits {
		e.report.Warnings = append(e.report.Warnings, fmt.Sprintf(
			"the limits of the control groups around this run have changed while it ran: memory %d, cpus %g, pids %d (0: none)",
			now.Memory, now.CPUs, now.Pids))
	}
}

// pidsLimit is the effective limit of processes.
func (e *execution) pidsLimit() int64 {
	if e.outer != nil {
		return e.outer.held.Pids
	}
	return e.plan.Analysis.Pids
}

func sharedWarning(shared cgroup.Evidence) string {
	var counted []string
	if shared.OOMKills > 0 {
		counted = append(counted, result.Count(shared.OOMKills, "process", "processes")+" killed for lack of memory")
	}
	if shared.PidsDenied > 0 {
		counted = append(counted, result.Count(shared.PidsDenied, "denied fork", "denied forks"))
	}
	if shared.Throttled > 0 {
		counted = append(counted, shared.Throttled.Round(time.Millisecond).String()+" without CPU")
	}
	if len(counted) == 0 {
		return ""
	}
	return fmt.Sprintf("other processes are in the control groups that hold the limits; while the run lasted these counted %s, and it cannot be told whose",
		strings.Join(counted, ", "))
}

// evidenceOf converts a group's counters; limit is the run's own.
func evidenceOf(e cgroup.Evidence, limit int64) result.Evidence {
	evidence := result.Evidence{
		OOMKills: e.OOMKills, PidsDenied: e.PidsDenied,
		ThrottledMS: e.Throttled.Milliseconds(), ThrottledPeriods: e.ThrottledPeriods, Periods: e.Periods,
	}
	if e.OOMKills == 0 {
		return evidence
	}
	switch short := e.Shortage; {
	case short.Own && short.Outer > 0:
		evidence.OOMLimit = &result.OOMLimit{By: result.OOMEither}
	case short.Own:
		evidence.OOMLimit = &result.OOMLimit{By: result.OOMOwn, Bytes: limit}
	case short.Outer > 0:
		evidence.OOMLimit = &result.OOMLimit{By: result.OOMOuter, Bytes: short.Outer}
	default:
		evidence.OOMLimit = &result.OOMLimit{By: result.OOMUnknown}
	}
	return evidence
}
