package outer

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgrouptest"
)

// around finds the groups around a process whose /proc/pid/cgroup has the given lines.
func around(h *cgrouptest.Host, pid int, groups ...string) *Groups {
	proc := h.Self("0::/launcher's own/is/no/matter")
	h.Write(fmt.Sprintf("proc/%d/cgroup", pid), strings.Join(groups, "\n")+"\n")
	return find(proc, pid)
}

const analysis = "77" // the process in the trees

func TestOuterHoldsV2(t *testing.T) {
	const online = "cpu  1 2\ncpu0 1\ncpu1 1\ncpu2 1\ncpu3 1\nintr 0\n"
	for name, c := range map[string]struct {
		root, above, own map[string]string
		swaps            string
		want             Held
	}{
		"the smallest of all": {
			above: map[string]string{"memory.max": "1000000", "memory.swap.max": "0", "pids.max": "50", "cpu.max": "max 100000"},
			own:   map[string]string{"memory.max": "2000000", "memory.swap.max": "max", "pids.max": "max", "cpu.max": "150000 100000"},
			swaps: "Filename\n/swap\n",
			want:  Held{Limits: cgroup.Limits{Memory: 1000000, Pids: 50, CPUs: 1.5}},
		},
		"none": {
			above: map[string]string{"memory.max": "max", "pids.max": "max", "cpu.max": "max 100000"},
			own:   map[string]string{"memory.max": "max"},
		},
		"a namespace's root has files": {
			root: map[string]string{"memory.max": "4096", "memory.swap.max": "0"}, swaps: "Filename\n/swap\n",
			want: Held{Limits: cgroup.Limits{Memory: 4096}},
		},
		"swap comes on top": {
			own: map[string]string{"memory.max": "4096", "memory.swap.max": "max"}, swaps: "Filename\n/swap\n",
			want: Held{Limits: cgroup.Limits{Memory: 4096}, Swapping: true},
		},
		"swap is not accounted for": {
			own: map[string]string{"memory.max": "4096"}, swaps: "Filename\n/swap\n",
			want: Held{Limits: cgroup.Limits{Memory: 4096}, Swapping: true},
		},
		"there is no swap": {
			own: map[string]string{"memory.max": "4096", "memory.swap.max": "max"}, swaps: "Filename\n",
			want: Held{Limits: cgroup.Limits{Memory: 4096}},
		},
		"a set of CPUs": {
			own:  map[string]string{"cpu.max": "300000 100000", "cpuset.cpus.effective": "0,2-2"},
			want: Held{Limits: cgroup.Limits{CPUs: 2}, CPUSet: true},
		},
		"a set of all CPUs": {
			own: map[string]string{"cpuset.cpus.effective": "0-3"},
		},
		"a set larger than the quota": {
			own:  map[string]string{"cpu.max": "50000 100000", "cpuset.cpus.effective": "0-2"},
			want: Held{Limits: cgroup.Limits{CPUs: 0.5}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgrouptest.NewHost(t)
			h.Mount("/", "cg", "cgroup2", "rw")
			h.Files("cg", c.root)
			h.Files("cg/slice", c.above)
			h.Write("cg/slice/job/cgroup.procs", "1\n"+analysis+"\n")
			h.Files("cg/slice/job", c.own)
			h.Write("proc/swaps", c.swaps)
			h.Write("proc/stat", online)
			got := around(h, 77, "0::/slice/job").Held()
			if len(got.Why) > 0 {
				t.Errorf("not read: %v", got.Why)
			}
			got.Why = nil
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestOuterHoldsV1(t *testing.T) {
	const none = "9223372036854771712"
	for name, c := range map[string]struct {
		memory, above map[string]string
		quota         string
		want          Held
	}{
		"limits": {
			memory: map[string]string{"memory.limit_in_bytes": "8192", "memory.memsw.limit_in_bytes": "8192"},
			above:  map[string]string{"memory.limit_in_bytes": none, "memory.memsw.limit_in_bytes": none},
			quota:  "25000", want: Held{Limits: cgroup.Limits{Memory: 8192, Pids: 9, CPUs: 0.25}},
		},
		"above what is mounted": {
			memory: map[string]string{
				"memory.limit_in_bytes": none, "memory.memsw.limit_in_bytes": none,
				"memory.stat": "cache 0\nhierarchical_memory_limit 4096\nhierarchical_memsw_limit 4096",
			},
			quota: "-1", want: Held{Limits: cgroup.Limits{Memory: 4096, Pids: 9}},
		},
		"none of memory": {
			memory: map[string]string{"memory.limit_in_bytes": none, "memory.stat": "hierarchical_memory_limit " + none},
			quota:  "-1", want: Held{Limits: cgroup.Limits{Pids: 9}},
		},
		"memory and more swap": {
			memory: map[string]string{"memory.limit_in_bytes": "8192", "memory.memsw.limit_in_bytes": "16384"},
			quota:  "-1", want: Held{Limits: cgroup.Limits{Memory: 8192, Pids: 9}, Swapping: true},
		},
		"swap is not accounted for": {
			memory: map[string]string{"memory.limit_in_bytes": "8192"},
			quota:  "-1", want: Held{Limits: cgroup.Limits{Memory: 8192, Pids: 9}, Swapping: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgrouptest.NewHost(t)
			for _, controller := range []string{"memory", "pids", "cpu"} {
				h.Mount("/docker", "cg/"+controller, "cgroup", "rw,"+controller)
				h.Write("cg/"+controller+"/a/b/cgroup.procs", analysis+"\n")
			}
			h.Files("cg/memory/a/b", c.memory)
			h.Files("cg/memory/a", c.above)
			h.Files("cg/pids/a/b", map[string]string{"pids.max": "9"})
			h.Files("cg/cpu/a/b", map[string]string{"cpu.cfs_quota_us": c.quota, "cpu.cfs_period_us": "100000"})
			h.Write("proc/swaps", "Filename\n/swap\n")
			got := around(h, 77, "3:memory:/docker/a/b", "2:pids:/docker/a/b", "1:cpu:/docker/a/b").Held()
			if len(got.Why) > 0 {
				t.Errorf("not read: %v", got.Why)
			}
			got.Why = nil
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// What is not seen to be so is not claimed.
func TestOuterIsNotVisible(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(h *cgrouptest.Host)
		group   string
		want    string
	}{
		"nothing is mounted":            {func(*cgrouptest.Host) {}, "0::/job", "no control group file system"},
		"another container's groups":    {func(h *cgrouptest.Host) { h.Mount("/other", "cg", "cgroup2", "rw") }, "0::/job", "not visible here"},
		"outside of the namespace":      {func(h *cgrouptest.Host) { h.Mount("/", "cg", "cgroup2", "rw") }, "0::/../job", "not visible here"},
		"a mount of another namespace":  {func(h *cgrouptest.Host) { h.Mount("/..", "cg", "cgroup2", "rw") }, "0::/", "not visible here"},
		"the name leads to a strangers": {func(h *cgrouptest.Host) { h.Mount("/", "cg", "cgroup2", "rw") }, "0::/", "not visible here"},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgrouptest.NewHost(t)
			c.prepare(h)
			h.Write("cg/cgroup.procs", "1\n2\n")
			h.Files("cg", map[string]string{"memory.max": "4096", "pids.max": "5", "cpu.max": "1000 100000"})
			got := around(h, 77, c.group).Held()
			if got.Limits != (cgroup.Limits{}) {
				t.Errorf("claims %+v", got.Limits)
			}
			for _, limit := range []string{"memory", "cpus", "pids"} {
				if why := got.Why[limit]; why == nil || !strings.Contains(why.Error(), c.want) {
					t.Errorf("%s: %v, want %q", limit, why, c.want)
				}
			}
		})
	}
}

// lineage is /proc with parents by process.
func lineage(h *cgrouptest.Host, parents map[int]int) {
	for pid, parent := range parents {
		h.Write(fmt.Sprintf("proc/%d/stat", pid), fmt.Sprintf("%d (a) b (c) S %d 1 1", pid, parent))
	}
}

// job is a launcher (10) with a supervisor (20) and an analysis (77) in a group of version 2, where others are
// beside it or in the group itself.
func job(t *testing.T, members ...int) (*cgrouptest.Host, *Groups) {
	t.Helper()
	h := cgrouptest.NewHost(t)
	h.Mount("/", "cg", "cgroup2", "rw")
	lineage(h, map[int]int{10: 5, 20: 10, 77: 20, 5: 1, 6: 5})
	h.Write("cg/cgroup.procs", "1\n")
	h.Files("cg/slice", map[string]string{
		"memory.max": "8192", "memory.events.local": "oom 3\noom_kill 0", "pids.events": "max 7", "cpu.stat": "throttled_usec 100",
	})
	h.Write("cg/slice/other/cgroup.procs", "6\n")
	var list strings.Builder
	for _, pid := range append([]int{10, 20, 77}, members...) {
		list.WriteString(strconv.Itoa(pid) + "\n")
	}
	h.Write("cg/slice/job/cgroup.procs", list.String())
	h.Files("cg/slice/job", map[string]string{
		"memory.max": "4096", "memory.events.local": "oom 1\noom_kill 2", "pids.events": "max 4", "cpu.stat": "throttled_usec 50",
	})
	return h, around(h, 77, "0::/slice/job")
}

func TestOuterEvidence(t *testing.T) {
	own := func(h *cgrouptest.Host, text map[string]string) { h.Files("cg/slice/job", text) }
	above := func(h *cgrouptest.Host, text map[string]string) { h.Files("cg/slice", text) }
	for name, c := range map[string]struct {
		members     []int
		change      func(h *cgrouptest.Host)
		own, shared cgroup.Evidence
	}{
		"nothing": {change: func(*cgrouptest.Host) {}},
		"its own limits": {
			change: func(h *cgrouptest.Host) {
				own(h, map[string]string{"memory.events.local": "oom 2\noom_kill 5", "pids.events": "max 6", "cpu.stat": "throttled_usec 80"})
				above(h, map[string]string{"pids.events": "max 9"})
			},
			own:    cgroup.Evidence{OOMKills: 3, PidsDenied: 2, Throttled: 30 * time.Microsecond, Shortage: cgroup.Shortage{Outer: 4096}},
			shared: cgroup.Evidence{Shortage: cgroup.Shortage{Outer: 4096}},
		},
		"the limit above": {
			change: func(h *cgrouptest.Host) {
				own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"})
				above(h, map[string]string{"memory.events.local": "oom 4\noom_kill 0", "pids.events": "max 8"})
			},
			own:    cgroup.Evidence{OOMKills: 1, Shortage: cgroup.Shortage{Outer: 8192}},
			shared: cgroup.Evidence{PidsDenied: 1, Shortage: cgroup.Shortage{Outer: 8192}},
		},
		"the host's memory": {
			change: func(h *cgrouptest.Host) { own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"}) },
			own:    cgroup.Evidence{OOMKills: 1},
		},
		"with another in the group": {
			members: []int{6},
			change: func(h *cgrouptest.Host) {
				own(h, map[string]string{"memory.events.local": "oom 2\noom_kill 5", "pids.events": "max 6"})
			},
			own:    cgroup.Evidence{Shortage: cgroup.Shortage{Outer: 4096}},
			shared: cgroup.Evidence{OOMKills: 3, PidsDenied: 2, Shortage: cgroup.Shortage{Outer: 4096}},
		},
		"with a process that is not shown": {
			members: []int{0},
			change:  func(h *cgrouptest.Host) { own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"}) },
			shared:  cgroup.Evidence{OOMKills: 1},
		},
		"somebody came": {
			change: func(h *cgrouptest.Host) {
				own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"})
				h.Write("cg/slice/job/cgroup.procs", "10\n20\n6\n")
			},
			shared: cgroup.Evidence{OOMKills: 1},
		},
		"somebody left": {
			members: []int{6},
			change: func(h *cgrouptest.Host) {
				own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"})
				h.Write("cg/slice/job/cgroup.procs", "10\n20\n")
			},
			shared: cgroup.Evidence{OOMKills: 1},
		},
		"two limits at once": {
			change: func(h *cgrouptest.Host) {
				own(h, map[string]string{"memory.events.local": "oom 2\noom_kill 3"})
				above(h, map[string]string{"memory.events.local": "oom 4\noom_kill 0"})
			},
			own: cgroup.Evidence{OOMKills: 1},
		},
		"somebody is below": {
			change: func(h *cgrouptest.Host) {
				own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"})
				h.Write("cg/slice/job/below/cgroup.procs", "6\n")
			},
			shared: cgroup.Evidence{OOMKills: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, o := job(t, c.members...)
			o.Watch(10)
			c.change(h)
			if own, shared := o.Evidence(); own != c.own || shared != c.shared {
				t.Errorf("own   %+v, want %+v\nshared %+v, want %+v", own, c.own, shared, c.shared)
			}
		})
	}
}
