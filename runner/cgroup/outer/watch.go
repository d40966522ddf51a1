package outer

import (
	"time"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// counters of the groups around a process: the kernel's kills in its own group, and per group, from its own upwards, how
// often a limit was reached. Unreadable ones are 0 and give no evidence.
type counters struct {
	kills                      int64
	reached, denied, throttled []int64
}

// NoLauncher is for Watch if the run's processes cannot be told from those of other runs. Then all evidence is shared.
const NoLauncher = 0

// Watch reads the counters just before the run starts. launcher is a process all of whose descendants
// belong to the run. If the process has several runs at once, pass NoLauncher instead.
func (o *Groups) Watch(launcher int) {
	o.family = family{o.proc, launcher}
	o.before, o.alone = o.count(), o.census()
}

// Evidence is what the groups counted since Watch. Own is this run's; shared is from groups with other members, and
// cannot be attributed.
//
// Why own is certain: the kernel counts a kill in the group of the killed process (memcg_memory_event_mm), and a group's
// members are children of members or were put there. If all were the launcher's descendants before the start and are at
// the end, so was the killed one, unless someone with write access to cgroup.procs put a process there in between and the
// kernel killed it. Launcher and supervisor are alive, or Evidence would not be called.
func (o *Groups) Evidence() (own, shared cgroup.Evidence) {
	now, alone := o.count(), o.census()
	for i := range alone {
		for level := range alone[i] {
			alone[i][level] = alone[i][level] && o.alone[i][level]
		}
	}
	kills := now.kills - o.before.kills
	if len(alone[0]) > 0 && alone[0][0] {
		own.OOMKills = kills
	} else {
		shared.OOMKills = kills
	}
	own.PidsDenied, shared.PidsDenied = split(o.before.denied, now.denied, alone[1])
	ownTime, sharedTime := split(o.before.throttled, now.throttled, alone[2])
	own.Throttled, shared.Throttled = time.Duration(ownTime), time.Duration(sharedTime)
	own.Shortage.Outer = o.memory.Limit(o.before.reached, now.reached)
	shared.Shortage = own.Shortage
	return own, shared
}

// split separates the counts of the run's own groups from shared ones. A group may include those below it (pids.events, since
// Linux 6.11), so they are not added.
func split(before, now []int64, alone []bool) (own, shared int64) {
	for i := range now {
		if alone[i] {
			own = max(own, now[i]-before[i])
		} else {
			shared = max(shared, now[i]-before[i])
		}
	}
	if own > 0 {
		return own, 0
	}
	return 0, shared
}

func (o *Groups) count() counters {
	c := counters{
		reached:   o.memory.Reached(),
		denied:    o.pids.each(chain.denied),
		throttled: o.cpu.each(chain.throttled),
	}
	if len(o.memory.Dirs) > 0 {
		c.kills = o.memory.kills(o.memory.Dirs[0])
	}
	return c
}

// census reports for each memory, pids and cpu group whether only the family is in it.
func (o *Groups) census() [3][]bool {
	return [3][]bool{o.family.alone(o.memory), o.family.alone(o.pids), o.family.alone(o.cpu)}
}

func (c chain) each(read func(chain, string) int64) []int64 {
	values := make([]int64, len(c.Dirs))
	for i, dir := range c.Dirs {
		values[i] = read(c, dir)
	}
	return values
}

// kills counts kills of the group's own processes, at any group's limit. Version 1 counts no others; before Linux 5.2,
// version 2 included groups below.
func (c chain) kills(dir string) int64 {
	if !c.Unified {
		return cgroupfs.Counter(dir, "memory.oom_control", "oom_kill")
	}
	if !cgroupfs.Exists(dir, "memory.events.local") {
		return cgroupfs.Counter(dir, "memory.events", "oom_kill")
	}
	return cgroupfs.Counter(dir, "memory.events.local", "oom_kill")
}

func (c chain) denied(dir string) int64 { return cgroupfs.Counter(dir, "pids.events", "max") }

// throttled in nanoseconds.
func (c chain) throttled(dir string) int64 {
	if c.Unified {
		return cgroupfs.Counter(dir, "cpu.stat", "throttled_usec") * int64(time.Microsecond)
	}
	return cgroupfs.Counter(dir, "cpu.stat", "throttled_time")
}
