package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// v1 is a group in the hierarchies of cgroup v1 (Documentation/admin-guide/cgroup-v1). A directory is
// empty where its controller is missing.
type v1 struct{ memory, pids, cpu, cpuacct string }

// cpuPeriod is the period of the CPU quota in microseconds, the kernel's own default.
const cpuPeriod = 100_000

func (g v1) set(l Limits) error {
	memory := strconv.FormatInt(l.Memory, 10)
	if err := write(g.memory, "memory.limit_in_bytes", memory); err != nil {
		return err
	}
	// memory.memsw holds memory and swap together: the same value means no swap. Kernels without swap
	// accounting do not have it; then there is no way to hold swap but to have none.
	if err := write(g.memory, "memory.memsw.limit_in_bytes", memory); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// Without a limit of their own, the buffers of TCP are not charged.
	if err := write(g.memory, "memory.kmem.tcp.limit_in_bytes", memory); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := write(g.pids, "pids.max", strconv.FormatInt(l.Pids, 10)); err != nil {
		return err
	}
	if l.CPUs == 0 {
		return nil
	}
	if err := write(g.cpu, "cpu.cfs_period_us", strconv.Itoa(cpuPeriod)); err != nil {
		return err
	}
	return write(g.cpu, "cpu.cfs_quota_us", strconv.FormatInt(quota(l.CPUs), 10))
}

// quota in microseconds of a period; the kernel refuses less than one millisecond.
func quota(cpus float64) int64 { return max(int64(cpus*cpuPeriod+0.5), 1000) }

func (g v1) effective() (e Effective, err error) {
	if e.Memory, err = readInt(g.memory, "memory.limit_in_bytes"); err != nil {
		return e, err
	}
	if e.Pids, err = readInt(g.pids, "pids.max"); err != nil {
		return e, err
	}
	if g.cpu != "" {
		e.CPUs, err = g.cpus()
	}
	return e, err
}

// cpus is the CPU quota, 0 where there is none.
func (g v1) cpus() (float64, error) {
	us, err := readInt(g.cpu, "cpu.cfs_quota_us")
	if err != nil {
		return 0, err
	}
	period, err := readInt(g.cpu, "cpu.cfs_period_us")
	if err != nil || us <= 0 || period <= 0 { // -1 means no quota
		return 0, err
	}
	return float64(us) / float64(period), nil
}

func (g v1) usage() (u Usage, err error) {
	if u.Memory, err = readInt(g.memory, "memory.usage_in_bytes"); err != nil {
		return u, err
	}
	if u.MemoryPeak, err = readInt(g.memory, "memory.max_usage_in_bytes"); err != nil {
		return u, err
	}
	if u.Pids, err = readInt(g.pids, "pids.current"); err != nil {
		return u, err
	}
	if u.PidsPeak, err = optional(readInt(g.pids, "pids.peak")); err != nil {
		return u, err
	}
	if g.cpuacct == "" {
		return u, nil
	}
	ns, err := readInt(g.cpuacct, "cpuacct.usage")
	u.CPU = time.Duration(ns)
	return u, err
}

func (g v1) evidence() (e Evidence, err error) {
	if e.OOMKills, err = readKey(g.memory, "memory.oom_control", "oom_kill"); err != nil {
		return e, err
	}
	// Each process counts in its own group, whoever's limit it was killed for.
	e.Shortage.Own = e.OOMKills > 0 && shortages(g.memory) > 0
	if e.PidsDenied, err = readKey(g.pids, "pids.events", "max"); err != nil {
		return e, err
	}
	if g.cpu == "" {
		return e, nil
	}
	return e, e.throttling(g.cpu, "throttled_time", time.Nanosecond)
}

// kill sends SIGKILL to each process: v1 has no cgroup.kill. The caller repeats it until none is left.
func (g v1) kill() error {
	pids, err := pidsOf(g.pids)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(pids, killedAtOnce) {
		if err := killMembers(g.pids, some); err != nil {
			return err
		}
	}
	return nil
}

// killedAtOnce is how many descriptors that takes: where a group is killed there may be few left.
const killedAtOnce = 16

// killMembers kills those processes that are in the group still when there is a descriptor of each: a number may be another's
// by then.
func killMembers(dir string, pids []int) error {
	members := map[int]int{}
	defer func() {
		for _, fd := range members {
			unix.Close(fd)
		}
	}()
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		switch {
		case err == nil:
			members[pid] = fd
		case !errors.Is(err, unix.ESRCH):
			return fmt.Errorf("open process %d of control group %s: %w", pid, dir, err)
		}
	}
	still, err := pidsOf(dir)
	if err != nil {
		return err
	}
	for _, pid := range still {
		if fd, ok := members[pid]; ok {
			if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
	}
	return nil
}
