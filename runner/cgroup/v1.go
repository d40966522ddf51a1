package cgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// v1 is a group in the hierarchies of cgroup v1 (Documentation/admin-guide/cgroup-v1). A missing controller has an empty
// directory.
type v1 struct{ memory, pids, cpu, cpuacct string }

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

func (g v1) effective() (e Limits, err error) {
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
	e.Shortage.Own = e.OOMKills > 0 && cgroupfs.SignsV1(g.memory) > 0
	if e.PidsDenied, err = cgroupfs.Key(g.pids, "pids.events", "max"); err != nil {
		return e, err
	}
	if g.cpu == "" {
		return e, nil
	}
	return e, e.throttling(g.cpu, "throttled_time", time.Nanosecond)
}

func (g v1) onOOM(struck func() bool) (stop func() error, err error) {
	// Documentation/admin-guide/cgroup-v1/memory.rst, "OOM Control".
	control, err := os.Open(filepath.Join(g.memory, "memory.oom_control"))
	if err != nil {
		return nil, err
	}
	defer control.Close()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	event := os.NewFile(uintptr(fd), "memory.oom_control")
	if err := cgroupfs.Write(g.memory, "cgroup.event_control", fmt.Sprintf("%d %d", fd, control.Fd())); err != nil {
		return nil, errors.Join(err, event.Close())
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for binary.Read(event, binary.NativeEndian, new(uint64)) == nil {
			if struck() {
				return
			}
		}
	}()
	return func() error { err := event.Close(); <-done; return err }, nil
}

func (g v1) holdsSwap() bool { return cgroupfs.Exists(g.memory, "memory.memsw.limit_in_bytes") }
