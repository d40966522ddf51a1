package cgroup

import (
	"os"
	"time"
)

// counters of the groups around a process: the kernel's kills in its own group, and per group, from its own upwards, how
// often a limit was reached. Unreadable ones are 0 and give no evidence.
type counters struct {
	kills                      int64
	reached, denied, throttled []int64
}

// Nobody is the launcher if its run cannot be told from others by process: then all is shared.
const Nobody = 0

// Watch reads the counters just before the run starts. The launcher is the process whose only descendants are the run's;
// for one with several runs at once, it is Nobody.
func (o *Outer) Watch(launcher int) {
	o.family = family{o.proc, launcher}
	o.before, o.alone = o.count(), o.census()
}

// Evidence is what the groups counted since Watch. Ours is this run's; shared is from groups with other members, and
// cannot be attributed.
//
// Why ours is certain: the kernel counts a kill in the group of the killed process (memcg_memory_event_mm), and a group's
// members are children of members or were put there. If all were the launcher's descendants before the start and are at
// the end, so was the killed one, unless someone with write access to cgroup.procs put a process there in between and the
// kernel killed it. Launcher and supervisor are alive, or Evidence would not be called.
func (o *Outer) Evidence() (ours, shared Evidence) {
	now, alone := o.count(), o.census()
	for i := range alone {
		for level := range alone[i] {
			alone[i][level] = alone[i][level] && o.alone[i][level]
		}
	}
	kills := now.kills - o.before.kills
	if len(alone[0]) > 0 && alone[0][0] {
		ours.OOMKills = kills
	} else {
		shared.OOMKills = kills
	}
	ours.PidsDenied, shared.PidsDenied = split(o.before.denied, now.denied, alone[1])
	us, them := split(o.before.throttled, now.throttled, alone[2])
	ours.Throttled, shared.Throttled = time.Duration(us), time.Duration(them)
	ours.Shortage.Outer = o.memory.short(o.before.reached, now.reached)
	shared.Shortage = ours.Shortage
	return ours, shared
}

// split separates the counts of our own groups from shared ones. A group may include those below it (pids.events, since
// Linux 6.11), so they are not added.
func split(before, now []int64, alone []bool) (ours, shared int64) {
	for i := range now {
		if alone[i] {
			ours = max(ours, now[i]-before[i])
		} else {
			shared = max(shared, now[i]-before[i])
		}
	}
	if ours > 0 {
		return ours, 0
	}
	return 0, shared
}

func (o *Outer) count() counters {
	c := counters{
		reached:   o.memory.each(chain.reached),
		denied:    o.pids.each(chain.denied),
		throttled: o.cpu.each(chain.throttled),
	}
	if len(o.memory.dirs) > 0 {
		c.kills = o.memory.kills(o.memory.dirs[0])
	}
	return c
}

// census reports for each memory, pids and cpu group whether only the family is in it.
func (o *Outer) census() [3][]bool {
	return [3][]bool{o.family.alone(o.memory), o.family.alone(o.pids), o.family.alone(o.cpu)}
}

func (c chain) each(read func(chain, string) int64) []int64 {
	values := make([]int64, len(c.dirs))
	for i, dir := range c.dirs {
		values[i] = read(c, dir)
	}
	return values
}

// kills counts kills of the group's own processes, at any group's limit. Version 1 counts no others; before Linux 5.2,
// version 2 included groups below.
func (c chain) kills(dir string) int64 {
	if !c.unified {
		return counted(dir, "memory.oom_control", "oom_kill")
	}
	if !exists(dir, "memory.events.local") {
		return counted(dir, "memory.events", "oom_kill")
	}
	return counted(dir, "memory.events.local", "oom_kill")
}

// reached counts charges that failed at the group's own limit: on version 2 when the kernel then had to kill, on version
// 1 also when something else helped.
func (c chain) reached(dir string) int64 {
	if c.unified {
		return counted(dir, "memory.events.local", "oom")
	}
	return shortages(dir)
}

// orderV1 is the most pages of a charge that can lead to a kill (PAGE_ALLOC_COSTLY_ORDER, 3).
const orderV1 = 8

// shortages counts signs that a version 1 group met its limit: failed charges of memory, or of memory and swap together,
// and a peak at the limit. The last is for Linux 6.15 and later, which do not count failures of the second kind (seen
// with 6.18); it is tried first.
func shortages(dir string) (n int64) {
	for _, kind := range []string{"memory.", "memory.memsw."} {
		if failed, err := readInt(dir, kind+"failcnt"); err == nil {
			n += failed
		}
		limit, err := readInt(dir, kind+"limit_in_bytes")
		peak, unread := readInt(dir, kind+"max_usage_in_bytes")
		if err == nil && unread == nil && peak > limit-orderV1*int64(os.Getpagesize()) {
			n++
		}
	}
	return n
}

func (c chain) denied(dir string) int64 { return counted(dir, "pids.events", "max") }

// throttled in nanoseconds.
func (c chain) throttled(dir string) int64 {
	if c.unified {
		return counted(dir, "cpu.stat", "throttled_usec") * int64(time.Microsecond)
	}
	return counted(dir, "cpu.stat", "throttled_time")
}

func counted(dir, file, key string) int64 {
	n, err := readKey(dir, file, key)
	if err != nil {
		return 0
	}
	return n
}

// short is the limit in bytes of the group that was out of memory. It is 0 if no visible group was, or if it is unknown
// at which of several the kernel killed.
func (c chain) short(before, now []int64) (limit int64) {
	found := 0
	for i, dir := range c.dirs {
		if now[i] <= before[i] {
			continue
		}
		found++
		if value, err := c.ownMemory(dir); err == nil {
			limit = value
		}
	}
	if found != 1 {
		return 0
	}
	return limit
}

// ownMemory is the group's own limit, not always the smallest.
func (c chain) ownMemory(dir string) (int64, error) {
	if c.unified {
		return readInt(dir, "memory.max")
	}
	return readInt(dir, "memory.limit_in_bytes")
}
