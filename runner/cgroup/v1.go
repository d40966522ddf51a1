package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/shortage"
)

// v1 is a group in the hierarchies of cgroup v1 (Documentation/admin-guide/cgroup-v1). A missing controller has an empty
// directory.
type v1 struct{ memory, pids, cpu, cpuacct string }

// cpuPeriod is the CPU quota's period in microseconds, the kernel's default.
const cpuPeriod = 100_000

func (g v1) set(l Limits) error {
	memory := strconv.FormatInt(l.Memory, 10)
	if err := cgroupfs.Write(g.memory, "memory.limit_in_bytes", memory); err != nil {
		return err
	}
	// memory.memsw limits memory and swap together: the same value means no swap. Kernels without swap accounting lack
	// it; then the only way to limit swap is to have none.
	if err := cgroupfs.Write(g.memory, "memory.memsw.limit_in_bytes", memory); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// TCP buffers are charged only with a limit of their own.
	if err := cgroupfs.Write(g.memory, "memory.kmem.tcp.limit_in_bytes", memory); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := cgroupfs.Write(g.pids, "pids.max", strconv.FormatInt(l.Pids, 10)); err != nil {
		return err
	}
	if l.CPUs == 0 {
		return nil
	}
	if err := cgroupfs.Write(g.cpu, "cpu.cfs_period_us", strconv.Itoa(cpuPeriod)); err != nil {
		return err
	}
	return cgroupfs.Write(g.cpu, "cpu.cfs_quota_us", strconv.FormatInt(quota(l.CPUs), 10))
}

// quota in microseconds per period; the kernel's minimum is one millisecond.
func quota(cpus float64) int64 { return max(int64(cpus*cpuPeriod+0.5), 1000) }

func (g v1) effective() (e Effective, err error) {
	if e.Memory, err = cgroupfs.Int(g.memory, "memory.limit_in_bytes"); err != nil {
		return e, err
	}
	if e.Pids, err = cgroupfs.Int(g.pids, "pids.max"); err != nil {
		return e, err
	}
	if g.cpu != "" {
		e.CPUs, err = cgroupfs.QuotaV1(g.cpu)
	}
	return e, err
}

func (g v1) usage() (u Usage, err error) {
	if u.Memory, err = cgroupfs.Int(g.memory, "memory.usage_in_bytes"); err != nil {
		return u, err
	}
	if u.MemoryPeak, err = cgroupfs.Int(g.memory, "memory.max_usage_in_bytes"); err != nil {
		return u, err
	}
	if u.Pids, err = cgroupfs.Int(g.pids, "pids.current"); err != nil {
		return u, err
	}
	if u.PidsPeak, err = cgroupfs.OptionalInt(g.pids, "pids.peak"); err != nil {
		return u, err
	}
	if g.cpuacct == "" {
		return u, nil
	}
	ns, err := cgroupfs.Int(g.cpuacct, "cpuacct.usage")
	u.CPU = time.Duration(ns)
	return u, err
}

func (g v1) evidence() (e Evidence, err error) {
	if e.OOMKills, err = cgroupfs.Key(g.memory, "memory.oom_control", "oom_kill"); err != nil {
		return e, err
	}
	// A kill counts in the process's own group, at any group's limit.
	e.Shortage.Own = e.OOMKills > 0 && shortage.SignsV1(g.memory) > 0
	if e.PidsDenied, err = cgroupfs.Key(g.pids, "pids.events", "max"); err != nil {
		return e, err
	}
	if g.cpu == "" {
		return e, nil
	}
	return e, e.throttling(g.cpu, "throttled_time", time.Nanosecond)
}

// kill sends SIGKILL to each process: v1 has no cgroup.kill. The caller repeats it until none is left.
func (g v1) kill() error {
	pids, err := cgroupfs.Pids(g.pids)
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

// killedAtOnce is the number of pidfds used at once: few descriptors may be free.
const killedAtOnce = 16

// killMembers kills the processes that are still in the group after their pidfds were opened: a pid may have been reused.
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
	still, err := cgroupfs.Pids(dir)
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
