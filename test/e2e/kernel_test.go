package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// unified reports whether the kernel's control groups are those of cgroup v2.
func unified() bool {
	var at unix.Statfs_t
	return unix.Statfs("/sys/fs/cgroup", &at) == nil && at.Type == unix.CGROUP2_SUPER_MAGIC
}

// groupFile reads a file of the control group of a run, in whichever hierarchy has it.
func groupFile(id, name string) string {
	for _, dir := range groupsOf(id) {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return strings.TrimSpace(string(text))
		}
	}
	return ""
}

// groupCounter reads a line "key value" of such a file.
func groupCounter(id, name, key string) int64 {
	for line := range strings.Lines(groupFile(id, name)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+" "); ok {
			n, _ := strconv.ParseInt(value, 10, 64) // 0 is a counter that was not found
			return n
		}
	}
	return 0
}

// inForce are limits as the kernel has them while a run is under way, in the words of a result. What it does not
// hold is "".
type inForce struct{ memory, pids, cpus string }

// heldBy reads what the kernel holds a run to: its control group, or the rlimits of the analysis' process.
func heldBy(t *testing.T, id string, analysis watched) inForce {
	t.Helper()
	if !theHost.cgroup {
		return inForce{memory: rlimit(t, analysis, "Max data size"), pids: rlimit(t, analysis, "Max processes")}
	}
	if unified() {
		expectFile(t, id, "memory.swap.max", "0")
		expectFile(t, id, "memory.oom.group", "1")
		quota, period, _ := strings.Cut(groupFile(id, "cpu.max"), " ")
		return inForce{groupFile(id, "memory.max"), groupFile(id, "pids.max"), cpus(quota, period)}
	}
	memory := groupFile(id, "memory.limit_in_bytes")
	if swap := groupFile(id, "memory.memsw.limit_in_bytes"); swap != "" { // a kernel without swap accounting has none
		expectFile(t, id, "memory.memsw.limit_in_bytes", memory)
	}
	return inForce{memory, groupFile(id, "pids.max"), cpus(groupFile(id, "cpu.cfs_quota_us"), groupFile(id, "cpu.cfs_period_us"))}
}

func expectFile(t *testing.T, id, name, want string) {
	t.Helper()
	if got := groupFile(id, name); got != want {
		t.Errorf("%s of %s is %q, want %q", name, id, got, want)
	}
}

// cpus are as many as a quota of a period is; "" if there is none.
func cpus(quota, period string) string {
	q, err := strconv.ParseFloat(quota, 64)
	p, noPeriod := strconv.ParseFloat(period, 64)
	if err != nil || noPeriod != nil || q <= 0 {
		return ""
	}
	return strconv.FormatFloat(q/p, 'g', -1, 64)
}

// rlimit reads proc_pid_limits(5), where soft and hard limit must be the same: a process may raise the soft one.
func rlimit(t *testing.T, w watched, name string) string {
	t.Helper()
	for line := range strings.Lines(readFile(t, filepath.Join("/proc", w.id(), "limits"))) {
		if values, ok := strings.CutPrefix(line, name); ok {
			fields := strings.Fields(values)
			if fields[0] != fields[1] {
				t.Errorf("%s: %s", name, strings.TrimSpace(values))
			}
			return fields[1]
		}
	}
	t.Fatalf("process %s (%q) has no %s", w.id(), w.command, name)
	return ""
}

// expectHeld compares what the kernel held while a run was under way with what its result says.
func (r result) expectHeld(t *testing.T, got inForce) {
	t.Helper()
	by := "rlimit"
	if theHost.cgroup {
		by = "cgroup"
	}
	for _, l := range []struct{ limit, got, by string }{{"memory", got.memory, by}, {"pids", got.pids, by}, {"cpus", got.cpus, by}} {
		if l.limit == "cpus" && !theHost.cgroup {
			l.by = "none"
		}
		e := r.enforcement(l.limit)
		if want := (enforcement{l.limit, e.Asked, l.got, l.by}); e != want {
			t.Errorf("the result says %+v, the kernel had %+v", e, want)
		}
		if l.by != "none" && e.Asked != e.Effective {
			t.Errorf("not what was asked for: %+v", e)
		}
	}
}

// groupCPU is how long the processes of a run have computed, in nanoseconds.
func groupCPU(id string) int64 {
	if unified() {
		return 1000 * groupCounter(id, "cpu.stat", "usage_usec")
	}
	n, _ := strconv.ParseInt(groupFile(id, "cpuacct.usage"), 10, 64) // 0: not there
	return n
}
