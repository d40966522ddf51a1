// Package limits holds memory, CPUs and processes of a run to its limits, from outside of its sandbox, and reads what the kernel counted. For
// each run it chooses the means: a control group of its own, the groups around it (--limits outer), or only the rlimits that
// the sandbox sets (best effort). If it cannot enforce a limit, it refuses the run, unless the caller accepted that. It reads each limit
// back from the kernel. It hides control groups: their versions, systemd's part in them, and their counters.
package limits

import (
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Limits sets and reads the limits of one run. The run calls Name, Set, Join and Remove, in this order.
type Limits struct {
	// Enforced lists who enforces which limit, once Set or Join has read it; empty before.
	Enforced []result.Enforcement

	analysis spec.Analysis
	parent   *cgroup.Parent // nil: no control group of the run's own
	name     string
	group    *cgroup.Group // nil: none, or removed
	outer    *outerGroups  // nil before Join, and without --limits outer
}

// Name names the run's control group, by a name that no other run of this host has, and returns the directories that Set will make; none
// if it has no group of its own.
func (l *Limits) Name(unique string) []string {
	if l.parent == nil {
		return nil
	}
	l.name = unique
	return l.parent.Plan(unique)
}

// Set makes the control group, and reads its limits back. Limits of groups around the run are read by Join.
func (l *Limits) Set() (warnings []string, err error) {
	if l.analysis.Limits == spec.LimitsOuter {
		return nil, nil
	}
	if l.parent == nil {
		l.Enforced = enforcedBy(l.analysis, nil)
		return nil, nil
	}
	group, got, err := l.parent.New(l.name, groupLimits(l.analysis, l.parent))
	if err != nil {
		return nil, err
	}
	l.group, l.Enforced = group, enforcedBy(l.analysis, &got)
	if group.Swapping() {
		warnings = append(warnings, swapWarning)
	}
	return warnings, nil
}

// Join puts a process that waits, and with it all its descendants, under the limits. Alone says that this launcher has no other run. kill
// is called when memory runs out and the kernel does not kill the whole group itself, until unwatch is called.
func (l *Limits) Join(pid int, alone bool, kill func()) (warnings []string, unwatch func() error, err error) {
	if l.analysis.Limits == spec.LimitsOuter {
		l.outer = readOuter(pid, alone)
		l.Enforced = outerEnforced(l.analysis, l.outer.held)
		warnings = outerWarnings(l.analysis, l.outer.held)
	}
	if l.group == nil {
		return warnings, func() error { return nil }, nil
	}
	if err := l.group.Add(pid); err != nil {
		return warnings, nil, err
	}
	if unwatch, err = l.group.WatchOOM(kill); err != nil {
		err = fmt.Errorf("watch for out of memory: %w", err)
	}
	return warnings, unwatch, err
}

// Own reports whether the run has a control group of its own.
func (l *Limits) Own() bool { return l.group != nil }

// Outer reports whether the groups around the run hold its limits.
func (l *Limits) Outer() bool { return l.outer != nil }

// Pids is the limit of processes that is in effect; 0 for none.
func (l *Limits) Pids() int64 {
	if l.outer != nil {
		return l.outer.held.Pids
	}
	return l.analysis.Pids
}

// Usage reads the present use of the run's own control group.
func (l *Limits) Usage() (cgroup.Usage, error) { return l.group.Usage() }

// emptyWait is how long the processes of a control group may take to vanish after the last one was killed: the kernel frees
// them asynchronously.
const emptyWait = 10 * time.Second

// Empty kills every process of the run's own control group, if any, without scheduling any of them, and proves that there is none left.
func (l *Limits) Empty() error {
	if l.group == nil {
		return nil
	}
	return l.group.Empty(emptyWait)
}

// Check warns of limits of the run's own control group that did not hold to the end.
func (l *Limits) Check() (warnings []string) {
	if l.group == nil {
		return nil
	}
	if err := l.group.Check(); err != nil {
		warnings = append(warnings, "the limits did not hold to the end: "+result.Sentence(err))
	}
	return warnings
}

// Evidence is what the kernel counted when the run reached its limits. If other processes may have caused a count, it is returned as a warning, not as evidence.
func (l *Limits) Evidence() (evidence result.Evidence, warnings []string, err error) {
	switch {
	case l.outer != nil:
		evidence, warnings = l.outer.collect()
		return evidence, warnings, nil
	case l.group == nil:
		return evidence, nil, nil
	}
	counted, err := l.group.Evidence()
	if err != nil {
		return evidence, nil, err
	}
	return evidenceOf(counted, int64(l.analysis.Memory)), nil, nil
}

// Remove removes the run's own control group, if it is still there. It must be empty.
func (l *Limits) Remove() error {
	if l.group == nil {
		return nil
	}
	err := l.group.Remove()
	if err == nil {
		l.group = nil
	}
	return err
}
