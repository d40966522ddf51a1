package limits

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/outer"
	"github.com/scidex-ai/scidex-oci/runner/host/threads"
	"github.com/scidex-ai/scidex-oci/spec"
)

// outerGroups are others' control groups, which limit a run with --limits outer.
type outerGroups struct {
	groups *outer.Groups
	held   outer.Held
}

// readOuter reads the limits of all groups around a container at its gate. Alone says that this launcher has no other run:
// those are its descendants, too.
func readOuter(pid int, alone bool) *outerGroups {
	groups := outer.Find(pid)
	o := &outerGroups{groups, groups.Held()}
	threads.Reserve()
	launcher := os.Getpid()
	if !alone {
		launcher = outer.NoLauncher
	}
	groups.Watch(launcher)
	return o
}

// collect reads the groups' counters. What others may have caused is a warning and no evidence.
func (o *outerGroups) collect() (evidence result.Evidence, warnings []string) {
	own, shared := o.groups.Evidence()
	if warning := sharedWarning(shared); warning != "" {
		warnings = append(warnings, warning)
	}
	if now := o.groups.Held(); now.Limits != o.held.Limits {
		warnings = append(warnings, fmt.Sprintf(
			"the limits of the control groups around this run have changed while it ran: memory %d, cpus %g, pids %d (0: none)",
			now.Memory, now.CPUs, now.Pids))
	}
	return evidenceOf(own, 0), warnings
}

// outerEnforced is enforcedBy for a run whose memory, CPUs and processes others' groups limit, or none. There is no
// rlimit on memory or processes besides (spec, withRlimits).
func outerEnforced(a spec.Analysis, held outer.Held) []result.Enforcement {
	list := enforcedBy(a, nil)
	for i, effective := range []string{
		strconv.FormatInt(held.Memory, 10), number(held.CPUs), strconv.FormatInt(held.Pids, 10),
	} {
		list[i].Effective, list[i].By = effective, result.ByOuter
		if effective == "0" {
			list[i].Effective, list[i].By = "", result.ByNone
		}
	}
	return list
}

// outerWarnings says which limits are not enforced, and which are lower than requested.
func outerWarnings(a spec.Analysis, held outer.Held) []string {
	var warnings []string
	for _, l := range []struct {
		limit       string
		asked, held float64
		unit        string
	}{
		{"memory", float64(a.Memory), float64(held.Memory), "of memory"},
		{"cpus", a.CPUs, held.CPUs, "CPUs"},
		{"pids", float64(a.Pids), float64(held.Pids), "processes"},
	} {
		asked, effective := plainNumber(l.asked), plainNumber(l.held)
		if l.limit == "memory" {
			asked, effective = format.Size(int64(a.Memory)), format.Size(held.Memory)
		}
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
		warnings = append(warnings, fmt.Sprintf("outer: no quota below it, but a set of CPUs (cpuset) holds the limit of %s CPUs", number(held.CPUs)))
	}
	if held.Swapping {
		warnings = append(warnings, "outer: "+swapWarning)
	}
	return warnings
}

// swapWarning is for a host with swap that no limit counts.
const swapWarning = "the memory limit does not hold swap, and this host has some: the analysis can take more than its limit in all"

func plainNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// sharedWarning says what the groups counted while other processes were in them; empty for nothing.
func sharedWarning(shared cgroup.Evidence) string {
	var counted []string
	if shared.OOMKills > 0 {
		counted = append(counted, format.Count(shared.OOMKills, "process", "processes")+" killed for lack of memory")
	}
	if shared.PidsDenied > 0 {
		counted = append(counted, format.Count(shared.PidsDenied, "denied fork", "denied forks"))
	}
	if shared.Throttled > 0 {
		counted = append(counted, shared.Throttled.Round(time.Millisecond).String()+" without CPU")
	}
	if len(counted) == 0 {
		return ""
	}
	return fmt.Sprintf("other processes are in the control groups that hold the limits; while the run lasted these counted %s, and it cannot be known whose",
		strings.Join(counted, ", "))
}
