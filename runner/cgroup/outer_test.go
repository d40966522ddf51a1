package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/shortage"
)

// files writes files of one group; each group has cgroup.procs.
func (h *host) files(dir string, text map[string]string) {
	h.t.Helper()
	for name, value := range text {
		h.write(filepath.Join(dir, name), value+"\n")
	}
	if _, err := os.Stat(filepath.Join(h.dir, dir, "cgroup.procs")); err != nil {
		h.write(filepath.Join(dir, "cgroup.procs"), "")
	}
}

// outer finds the groups around a process whose /proc/pid/cgroup has the given lines.
func (h *host) outer(pid int, groups ...string) *Outer {
	system := h.system(false, "0::/launcher's own/is/no/matter")
	h.write(fmt.Sprintf("proc/%d/cgroup", pid), strings.Join(groups, "\n")+"\n")
	return FindOuter(system, pid)
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
			want:  Held{Limits: Limits{Memory: 1000000, Pids: 50, CPUs: 1.5}},
		},
		"none": {
			above: map[string]string{"memory.max": "max", "pids.max": "max", "cpu.max": "max 100000"},
			own:   map[string]string{"memory.max": "max"},
		},
		"a namespace's root has files": {
			root: map[string]string{"memory.max": "4096", "memory.swap.max": "0"}, swaps: "Filename\n/swap\n",
			want: Held{Limits: Limits{Memory: 4096}},
		},
		"swap comes on top": {
			own: map[string]string{"memory.max": "4096", "memory.swap.max": "max"}, swaps: "Filename\n/swap\n",
			want: Held{Limits: Limits{Memory: 4096}, Swapping: true},
		},
		"swap is not accounted for": {
			own: map[string]string{"memory.max": "4096"}, swaps: "Filename\n/swap\n",
			want: Held{Limits: Limits{Memory: 4096}, Swapping: true},
		},
		"there is no swap": {
			own: map[string]string{"memory.max": "4096", "memory.swap.max": "max"}, swaps: "Filename\n",
			want: Held{Limits: Limits{Memory: 4096}},
		},
		"a set of CPUs": {
			own:  map[string]string{"cpu.max": "300000 100000", "cpuset.cpus.effective": "0,2-2"},
			want: Held{Limits: Limits{CPUs: 2}, CPUSet: true},
		},
		"a set of all CPUs": {
			own: map[string]string{"cpuset.cpus.effective": "0-3"},
		},
		"a set larger than the quota": {
			own:  map[string]string{"cpu.max": "50000 100000", "cpuset.cpus.effective": "0-2"},
			want: Held{Limits: Limits{CPUs: 0.5}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.mount("/", "cg", "cgroup2", "rw")
			h.files("cg", c.root)
			h.files("cg/slice", c.above)
			h.write("cg/slice/job/cgroup.procs", "1\n"+analysis+"\n")
			h.files("cg/slice/job", c.own)
			h.write("proc/swaps", c.swaps)
			h.write("proc/stat", online)
			got := h.outer(77, "0::/slice/job").Held()
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
			quota:  "25000", want: Held{Limits: Limits{Memory: 8192, Pids: 9, CPUs: 0.25}},
		},
		"above what is mounted": {
			memory: map[string]string{
				"memory.limit_in_bytes": none, "memory.memsw.limit_in_bytes": none,
				"memory.stat": "cache 0\nhierarchical_memory_limit 4096\nhierarchical_memsw_limit 4096",
			},
			quota: "-1", want: Held{Limits: Limits{Memory: 4096, Pids: 9}},
		},
		"none of memory": {
			memory: map[string]string{"memory.limit_in_bytes": none, "memory.stat": "hierarchical_memory_limit " + none},
			quota:  "-1", want: Held{Limits: Limits{Pids: 9}},
		},
		"memory and more swap": {
			memory: map[string]string{"memory.limit_in_bytes": "8192", "memory.memsw.limit_in_bytes": "16384"},
			quota:  "-1", want: Held{Limits: Limits{Memory: 8192, Pids: 9}, Swapping: true},
		},
		"swap is not accounted for": {
			memory: map[string]string{"memory.limit_in_bytes": "8192"},
			quota:  "-1", want: Held{Limits: Limits{Memory: 8192, Pids: 9}, Swapping: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			for _, controller := range []string{"memory", "pids", "cpu"} {
				h.mount("/docker", "cg/"+controller, "cgroup", "rw,"+controller)
				h.write("cg/"+controller+"/a/b/cgroup.procs", analysis+"\n")
			}
			h.files("cg/memory/a/b", c.memory)
			h.files("cg/memory/a", c.above)
			h.files("cg/pids/a/b", map[string]string{"pids.max": "9"})
			h.files("cg/cpu/a/b", map[string]string{"cpu.cfs_quota_us": c.quota, "cpu.cfs_period_us": "100000"})
			h.write("proc/swaps", "Filename\n/swap\n")
			got := h.outer(77, "3:memory:/docker/a/b", "2:pids:/docker/a/b", "1:cpu:/docker/a/b").Held()
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
		prepare func(h *host)
		group   string
		want    string
	}{
		"nothing is mounted":            {func(*host) {}, "0::/job", "no control group file system"},
		"another container's groups":    {func(h *host) { h.mount("/other", "cg", "cgroup2", "rw") }, "0::/job", "not visible here"},
		"outside of the namespace":      {func(h *host) { h.mount("/", "cg", "cgroup2", "rw") }, "0::/../job", "not visible here"},
		"a mount of another namespace":  {func(h *host) { h.mount("/..", "cg", "cgroup2", "rw") }, "0::/", "not visible here"},
		"the name leads to a strangers": {func(h *host) { h.mount("/", "cg", "cgroup2", "rw") }, "0::/", "not visible here"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			c.prepare(h)
			h.write("cg/cgroup.procs", "1\n2\n")
			h.files("cg", map[string]string{"memory.max": "4096", "pids.max": "5", "cpu.max": "1000 100000"})
			got := h.outer(77, c.group).Held()
			if got.Limits != (Limits{}) {
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
func (h *host) lineage(parents map[int]int) {
	for pid, parent := range parents {
		h.write(fmt.Sprintf("proc/%d/stat", pid), fmt.Sprintf("%d (a) b (c) S %d 1 1", pid, parent))
	}
}

// job is a launcher (10) with a supervisor (20) and an analysis (77) in a group of version 2, where others are
// beside it or in the group itself.
func job(t *testing.T, members ...int) (*host, *Outer) {
	t.Helper()
	h := newHost(t)
	h.mount("/", "cg", "cgroup2", "rw")
	h.lineage(map[int]int{10: 5, 20: 10, 77: 20, 5: 1, 6: 5})
	h.write("cg/cgroup.procs", "1\n")
	h.files("cg/slice", map[string]string{
		"memory.max": "8192", "memory.events.local": "oom 3\noom_kill 0", "pids.events": "max 7", "cpu.stat": "throttled_usec 100",
	})
	h.write("cg/slice/other/cgroup.procs", "6\n")
	var list strings.Builder
	for _, pid := range append([]int{10, 20, 77}, members...) {
		list.WriteString(strconv.Itoa(pid) + "\n")
	}
	h.write("cg/slice/job/cgroup.procs", list.String())
	h.files("cg/slice/job", map[string]string{
		"memory.max": "4096", "memory.events.local": "oom 1\noom_kill 2", "pids.events": "max 4", "cpu.stat": "throttled_usec 50",
	})
	return h, h.outer(77, "0::/slice/job")
}

func TestOuterEvidence(t *testing.T) {
	own := func(h *host, text map[string]string) { h.files("cg/slice/job", text) }
	above := func(h *host, text map[string]string) { h.files("cg/slice", text) }
	for name, c := range map[string]struct {
		members      []int
		change       func(h *host)
		ours, shared Evidence
	}{
		"nothing": {change: func(*host) {}},
		"its own limits": {
			change: func(h *host) {
				own(h, map[string]string{"memory.events.local": "oom 2\noom_kill 5", "pids.events": "max 6", "cpu.stat": "throttled_usec 80"})
				above(h, map[string]string{"pids.events": "max 9"})
			},
			ours:   Evidence{OOMKills: 3, PidsDenied: 2, Throttled: 30 * time.Microsecond, Shortage: Shortage{Outer: 4096}},
			shared: Evidence{Shortage: Shortage{Outer: 4096}},
		},
		"the limit above": {
			change: func(h *host) {
				own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"})
				above(h, map[string]string{"memory.events.local": "oom 4\noom_kill 0", "pids.events": "max 8"})
			},
			ours:   Evidence{OOMKills: 1, Shortage: Shortage{Outer: 8192}},
			shared: Evidence{PidsDenied: 1, Shortage: Shortage{Outer: 8192}},
		},
		"the host's memory": {
			change: func(h *host) { own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"}) },
			ours:   Evidence{OOMKills: 1},
		},
		"with another in the group": {
			members: []int{6},
			change: func(h *host) {
				own(h, map[string]string{"memory.events.local": "oom 2\noom_kill 5", "pids.events": "max 6"})
			},
			ours:   Evidence{Shortage: Shortage{Outer: 4096}},
			shared: Evidence{OOMKills: 3, PidsDenied: 2, Shortage: Shortage{Outer: 4096}},
		},
		"with a process that is not shown": {
			members: []int{0},
			change:  func(h *host) { own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"}) },
			shared:  Evidence{OOMKills: 1},
		},
		"somebody came": {
			change: func(h *host) {
				own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"})
				h.write("cg/slice/job/cgroup.procs", "10\n20\n6\n")
			},
			shared: Evidence{OOMKills: 1},
		},
		"somebody left": {
			members: []int{6},
			change: func(h *host) {
				own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"})
				h.write("cg/slice/job/cgroup.procs", "10\n20\n")
			},
			shared: Evidence{OOMKills: 1},
		},
		"two limits at once": {
			change: func(h *host) {
				own(h, map[string]string{"memory.events.local": "oom 2\noom_kill 3"})
				above(h, map[string]string{"memory.events.local": "oom 4\noom_kill 0"})
			},
			ours: Evidence{OOMKills: 1},
		},
		"somebody is below": {
			change: func(h *host) {
				own(h, map[string]string{"memory.events.local": "oom 1\noom_kill 3"})
				h.write("cg/slice/job/below/cgroup.procs", "6\n")
			},
			shared: Evidence{OOMKills: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, o := job(t, c.members...)
			o.Watch(10)
			c.change(h)
			if ours, shared := o.Evidence(); ours != c.ours || shared != c.shared {
				t.Errorf("ours   %+v, want %+v\nshared %+v, want %+v", ours, c.ours, shared, c.shared)
			}
		})
	}
}

// In version 1 the kernel leaves no word of the limit at which it killed but failures and peaks.
func TestShortageV1(t *testing.T) {
	group := func(failed, peak string) map[string]string {
		return map[string]string{
			"memory.limit_in_bytes": "8388608", "memory.failcnt": failed, "memory.max_usage_in_bytes": peak,
			"memory.oom_control": "oom_kill 1", "pids.events": "max 0",
		}
	}
	free := group("0", "4096")
	for name, c := range map[string]struct {
		above, own map[string]string // after the run
		want       Shortage
	}{
		"its own, counted":     {free, group("2", "4096"), Shortage{Own: true}},
		"its own, by the peak": {free, group("0", "8388608"), Shortage{Own: true}},
		"the one above":        {group("1", "8388608"), group("0", "4194304"), Shortage{Outer: 8388608}},
		"both":                 {group("1", "8388608"), group("1", "8388608"), Shortage{Own: true, Outer: 8388608}},
		"neither":              {free, free, Shortage{}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.files("m", free)
			h.files("m/run", free)
			files := v1{memory: filepath.Join(h.dir, "m/run"), pids: filepath.Join(h.dir, "m/run")}
			g := &Group{files: files, above: shortage.Groups{Dirs: cgroupfs.Ancestors(filepath.Join(h.dir, "m"))}}
			g.before = g.above.Reached()
			h.files("m", c.above)
			h.files("m/run", c.own)
			if e, err := g.Evidence(); err != nil || e.Shortage != c.want || e.OOMKills != 1 {
				t.Errorf("%+v (%v), want %+v", e, err, c.want)
			}
		})
	}
}

// A kill is counted in the group of the killed process, whoever's memory ran out.
func TestShortageV2(t *testing.T) {
	for name, c := range map[string]struct {
		above, own string
		want       Shortage
	}{
		"its own":                       {"oom 3", "oom 1\noom_kill 4", Shortage{Own: true}},
		"its own, and a neighbour's":    {"oom 9", "oom 1\noom_kill 4", Shortage{Own: true}},
		"the one above":                 {"oom 4", "oom 0\noom_kill 4", Shortage{Outer: 8192}},
		"the host's or an unseen group": {"oom 3", "oom 0\noom_kill 4", Shortage{}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.files("m", map[string]string{"memory.max": "8192", "memory.events.local": "oom 3"})
			h.files("m/run", map[string]string{"pids.events": "max 0", "cpu.stat": ""})
			above := shortage.Groups{Unified: true, Dirs: cgroupfs.Ancestors(filepath.Join(h.dir, "m"))}
			g := &Group{files: v2{filepath.Join(h.dir, "m/run")}, above: above, before: above.Reached()}
			h.files("m", map[string]string{"memory.events.local": c.above})
			h.files("m/run", map[string]string{"memory.events": c.own})
			if e, err := g.Evidence(); err != nil || e.Shortage != c.want || e.OOMKills != 4 {
				t.Errorf("%+v (%v), want %+v", e, err, c.want)
			}
		})
	}
}

func TestSwapping(t *testing.T) {
	titles, area := "Filename Type Size Used Priority\n", "/dev/sda2 partition 1 0 -2\n"
	for name, c := range map[string]struct {
		swaps string // of the host; empty: its kernel has none
		file  string // that the group has
		want  bool
	}{
		"held by version 1":          {titles + area, "memory.memsw.limit_in_bytes", false},
		"held by version 2":          {titles + area, "memory.swap.max", false},
		"not accounted for":          {titles + area, "memory.limit_in_bytes", true},
		"the host has none":          {titles, "memory.limit_in_bytes", false},
		"a kernel without swap":      {"", "memory.limit_in_bytes", false},
		"not accounted, two of them": {titles + area + area, "memory.max", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			if c.swaps != "" {
				h.write("proc/swaps", c.swaps)
			}
			h.write("g/"+c.file, "0")
			dir, sys := filepath.Join(h.dir, "g"), System{Proc: filepath.Join(h.dir, "proc")}
			for version, files := range map[int]hierarchy{1: v1{memory: dir}, 2: v2{dir}} {
				want := c.want
				if version == 1 && c.file == "memory.swap.max" || version == 2 && c.file == "memory.memsw.limit_in_bytes" {
					want = true // the other version's file holds nothing
				}
				if got := (&Group{files: files}).Swapping(sys); got != want {
					t.Errorf("version %d: %v, want %v", version, got, want)
				}
			}
		})
	}
}
