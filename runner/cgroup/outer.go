package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/shortage"
)

// Outer is the control groups of a process that others made: a batch system, a container engine, systemd. Groups above
// the visible root, as in a cgroup namespace, are unknown, except that version 1 reports their memory limit.
type Outer struct {
	memory, pids, cpu, cpuset chain
	proc                      string
	before                    counters
	alone                     [3][]bool // census before the start
	family                    family
}

// Held is the limits of the groups around a process: the smallest visible ones.
type Held struct {
	Limits // 0: no limit
	// Why says, for "memory", "cpus" and "pids", why nothing could be read.
	Why map[string]error
	// Swapping says that the host has swap that the memory limit does not count.
	Swapping bool
	// CPUSet says that CPUs is the size of the CPU set, which is smaller than any quota.
	CPUSet bool
}

// chain is the groups of one controller around a process, from its own up to the visible root.
type chain struct {
	shortage.Groups
	err error // why it has none
}

// FindOuter finds the groups of process pid.
func FindOuter(sys System, pid int) *Outer {
	sys = sys.withDefaults()
	mounts, err := cgroupfs.ReadMounts(sys.Proc)
	own, failed := cgroupfs.GroupsOf(sys.Proc, strconv.Itoa(pid))
	find := func(controller string) chain {
		if err := errors.Join(err, failed); err != nil {
			return chain{err: err}
		}
		return findChain(mounts, own, controller, pid)
	}
	return &Outer{
		memory: find("memory"), pids: find("pids"), cpu: find("cpu"), cpuset: find("cpuset"), proc: sys.Proc,
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
	return chain{Groups: shortage.Groups{Unified: name == "", Dirs: cgroupfs.Ancestors(dir)}}
}

// Held reads the limits.
func (o *Outer) Held() Held {
	h := Held{Why: map[string]error{}}
	least := func(limit string, c chain, read func(chain, string) (float64, error)) float64 {
		value, err := c.least(read)
		if err != nil {
			h.Why[limit] = err
		}
		if math.IsInf(value, 1) {
			return 0
		}
		return value
	}
	h.Memory = int64(least("memory", o.memory, chain.memoryLimit))
	h.Pids = int64(least("pids", o.pids, chain.pidsLimit))
	h.CPUs = least("cpus", o.cpu, chain.quota)
	if set := o.cpuSet(); set > 0 && (h.CPUs == 0 || float64(set) < h.CPUs) {
		h.CPUs, h.CPUSet = float64(set), true
		delete(h.Why, "cpus")
	}
	h.Swapping = h.Memory > 0 && o.swaps(h.Memory)
	return h
}

// least is the smallest limit of a chain, infinite if there is none. A limit that was read counts, even if others could
// not be read.
func (c chain) least(read func(chain, string) (float64, error)) (float64, error) {
	found, failed := math.Inf(1), c.err
	for _, dir := range c.Dirs {
		value, err := read(c, dir)
		switch {
		case errors.Is(err, fs.ErrNotExist): // the root group, or a controller that is not delegated
		case err != nil:
			failed = errors.Join(failed, err)
		case value < found:
			found = value
		}
	}
	if math.IsInf(found, 1) {
		return found, failed
	}
	return found, nil
}

// unlimitedV1 is far above any machine's memory; the kernel reports the greatest number of whole pages.
const unlimitedV1 = 1 << 62

func (c chain) memoryLimit(dir string) (float64, error) {
	if c.Unified {
		return cgroupfs.MaxOrInf(dir, "memory.max")
	}
	limit, err := cgroupfs.Int(dir, "memory.limit_in_bytes")
	if err != nil {
		return 0, err
	}
	// The limit of all groups above, visible or not (cgroup-v1/memory.rst, "stat file").
	if all, err := cgroupfs.Key(dir, "memory.stat", "hierarchical_memory_limit"); err == nil {
		limit = min(limit, all)
	}
	return finite(limit), nil
}

func (c chain) pidsLimit(dir string) (float64, error) { return cgroupfs.MaxOrInf(dir, "pids.max") }

func (c chain) quota(dir string) (float64, error) {
	cpus, err := 0.0, error(nil)
	if c.Unified {
		cpus, err = cgroupfs.QuotaV2(dir)
	} else {
		cpus, err = cgroupfs.QuotaV1(dir)
	}
	if cpus == 0 {
		cpus = math.Inf(1)
	}
	return cpus, err
}

func finite(limit int64) float64 {
	if limit >= unlimitedV1 {
		return math.Inf(1)
	}
	return float64(limit)
}

// cpuSet is the number of CPUs that the process may run on, 0 if all of the host's.
func (o *Outer) cpuSet() int64 {
	if len(o.cpuset.Dirs) == 0 {
		return 0
	}
	files := []string{"cpuset.effective_cpus", "cpuset.cpus"}
	if o.cpuset.Unified {
		files = []string{"cpuset.cpus.effective"}
	}
	for _, file := range files {
		text, err := cgroupfs.Read(o.cpuset.Dirs[0], file)
		if err != nil {
			continue
		}
		if n := countCPUs(text); n < o.onlineCPUs() {
			return n
		}
		return 0
	}
	return 0
}

// countCPUs counts a list of cpuset(7): "0-3,8".
func countCPUs(list string) int64 {
	var n int64
	for part := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		first, err := strconv.ParseInt(from, 10, 64)
		last, failed := strconv.ParseInt(to, 10, 64)
		if err != nil || failed != nil || last < first {
			return 0
		}
		n += last - first + 1
	}
	return n
}

// onlineCPUs counts the CPU lines of proc_stat(5).
func (o *Outer) onlineCPUs() int64 {
	text, err := os.ReadFile(filepath.Join(o.proc, "stat"))
	if err != nil {
		return 0
	}
	var n int64
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "cpu") && !strings.HasPrefix(line, "cpu ") {
			n++
		}
	}
	return n
}
