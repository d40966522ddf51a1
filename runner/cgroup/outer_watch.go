package cgroup

import (
	"os"
	"time"
)

// counters of the groups around a process: of the kernel's kills in its own group, and per group, from its own
// upwards, how often a limit was reached. What cannot be read stays 0: no evidence comes of it.
type counters struct {
	kills                      int64
	reached, denied, throttled []int64
}

// Nobody is the launcher of a run that cannot be told from others by its processes: then all is shared.
const Nobody = 0

// Watch takes the counters just before the run starts. The launcher is the process whose descendants a run is, where
// they are nobody else's: a launcher of several runs at once is Nobody.
func (o *Outer) Watch(launcher int) {
	o.family = family{o.proc, launcher}
	o.before, o.alone = o.count(), o.census()
}

// Evidence is what the groups have counted since Watch. Ours is this run's; shared was counted by groups that
// others are in, too, and nobody can say whose it was.
//
// That ours is no guess rests on this: the kernel counts a kill in the group of the process that it kills
// (memcg_memory_event_mm), and whoever is in a group is a child of a member or was put there. Where the members
// were all the launcher's descendants before the start and are again at the end, the killed one was such a
// descendant, unless somebody with the right to write to the group's cgroup.procs has put a process there and
// lost it to the kernel in between. Launcher and supervisor live, else nobody would ask.
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

// split tells what groups of our own have counted from what others have. Groups may count what happens below
// them (pids.events, since Linux 6.11), so the figures are not added.
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

// census says of each group of memory, pids and cpu whether the family has it for itself.
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

// kills are those of the group's own processes, whoever's limit it was. Version 1 counts no others; before
// Linux 5.2 version 2 counted those of groups below as well.
func (c chain) kills(dir string) int64 {
	if !c.unified {
		return counted(dir, "memory.oom_control", "oom_kill")
	}
	if !exists(dir, "memory.events.local") {
		return counted(dir, "memory.events", "oom_kill")
	}
	return counted(dir, "memory.events.local", "oom_kill")
}

// reached is how often the group's own limit was met by a charge that failed: on version 2 when the kernel then
// saw no other way than to kill, on version 1 also when something else helped.
func (c chain) reached(dir string) int64 {
	if c.unified {
		return counted(dir, "memory.events.local", "oom")
	}
	return shortages(dir)
}

// orderV1 are the most pages that a charge may ask for and still be killed for (PAGE_ALLOC_COSTLY_ORDER, 3).
const orderV1 = 8

// shortages counts what tells that a group of version 1 has met its limit: charges that failed, of memory or of
// memory and swap together, and that the peak is the limit. The last is for Linux 6.15 and later, where the
// failures of the second kind are not counted any more (seen with 6.18), and it is tried first.
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

// short is the limit of the group of which memory ran out, in bytes. It is 0 where no group that can be seen ran
// out, or where several did and it cannot be told at which of them the kernel killed.
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

// ownMemory is the group's own limit, which need not be the smallest.
func (c chain) ownMemory(dir string) (int64, error) {
	if c.unified {
		return readInt(dir, "memory.max")
	}
	return readInt(dir, "memory.limit_in_bytes")
}
