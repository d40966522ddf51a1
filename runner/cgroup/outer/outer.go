// Package outer reads the control groups around a process, which others made (`--limits outer`): their limits, and what
// they counted while a run lasted.
package outer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// Groups are the control groups around a process that a batch system, a container engine or systemd has made. A cgroup
// namespace hides the groups above its root; of these only the memory limit is known, and only in version 1.
type Groups struct {
	memory, pids, cpu, cpuset chain
	proc                      string
	before                    counters
	alone                     [3][]bool // census before the start
	family                    family
}

// chain is the groups of one controller around a process, from its own up to the visible root.
type chain struct {
	cgroupfs.Chain
	err error // why it has none
}

// Find finds the groups of process pid.
func Find(pid int) *Groups { return find("/proc", pid) }

func find(proc string, pid int) *Groups {
	mounts, err := cgroupfs.ReadMounts(proc)
	own, failed := cgroupfs.GroupsOf(proc, strconv.Itoa(pid))
	of := func(controller string) chain {
		if err := errors.Join(err, failed); err != nil {
			return chain{err: err}
		}
		return findChain(mounts, own, controller, pid)
	}
	return &Groups{
		memory: of("memory"), pids: of("pids"), cpu: of("cpu"), cpuset: of("cpuset"), proc: proc,
	}
}

// findChain verifies that the process is in the first group of its chain: for a mount of another namespace or container,
// the names in /proc lead to a different group.
func findChain(mounts cgroupfs.Mounts, own map[string]string, controller string, pid int) chain {
	name := controller
	if !mounts.Has(name) {
		name = ""
	}
	m, mounted := mounts[name]
	group, known := own[name]
	if !mounted || !known {
		return chain{err: fmt.Errorf("no control group file system with the %s controller is mounted", controller)}
	}
	dir := m.Dir(group)
	pids, err := cgroupfs.Pids(dir)
	if err != nil {
		return chain{err: err}
	}
	if !slices.Contains(pids, pid) {
		return chain{err: fmt.Errorf("the run's own control group (%s of %s) is not visible here", controller, group)}
	}
	return chain{Chain: cgroupfs.Chain{Unified: name == "", Dirs: cgroupfs.Ancestors(dir)}}
}
