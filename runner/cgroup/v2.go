package cgroup

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// v2 is a group of the unified hierarchy (Documentation/admin-guide/cgroup-v2.rst).
type v2 struct{ dir string }

func (g v2) set(l Limits) error {
	values := [][2]string{
		{"memory.max", strconv.FormatInt(l.Memory, 10)},
		{"memory.oom.group", "1"},
		{"pids.max", strconv.FormatInt(l.Pids, 10)},
	}
	if l.CPUs != 0 {
		values = append(values, [2]string{"cpu.max", fmt.Sprintf("%d %d", quota(l.CPUs), cpuPeriod)})
	}
	for _, v := range values {
		if err := cgroupfs.Write(g.dir, v[0], v[1]); err != nil {
			return err
		}
	}
	// Kernels without swap accounting lack this file.
	if err := cgroupfs.Write(g.dir, "memory.swap.max", "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (g v2) effective() (e Limits, err error) {
	if e.Memory, err = cgroupfs.Int(g.dir, "memory.max"); err != nil {
		return e, err
	}
	if e.Pids, err = cgroupfs.Int(g.dir, "pids.max"); err != nil {
		return e, err
	}
	if e.CPUs, err = cgroupfs.QuotaV2(g.dir); errors.Is(err, os.ErrNotExist) {
		return e, nil
	}
	return e, err
}

func (g v2) usage() (u Usage, err error) {
	if u.Memory, err = cgroupfs.Int(g.dir, "memory.current"); err != nil {
		return u, err
	}
	// memory.peak came with Linux 5.19, pids.peak with 6.1.
	if u.MemoryPeak, err = cgroupfs.OptionalInt(g.dir, "memory.peak"); err != nil {
		return u, err
	}
	if u.Pids, err = cgroupfs.Int(g.dir, "pids.current"); err != nil {
		return u, err
	}
	if u.PidsPeak, err = cgroupfs.OptionalInt(g.dir, "pids.peak"); err != nil {
		return u, err
	}
	us, err := cgroupfs.Key(g.dir, "cpu.stat", "usage_usec")
	u.CPU = time.Duration(us) * time.Microsecond
	return u, err
}

func (g v2) evidence() (e Evidence, err error) {
	if e.OOMKills, err = cgroupfs.Key(g.dir, "memory.events", "oom_kill"); err != nil {
		return e, err
	}
	// oom_kill counts the group's processes killed at any limit, oom only this group's limit.
	shortages, err := cgroupfs.Key(g.dir, "memory.events", "oom")
	if err != nil {
		return e, err
	}
	e.Shortage.Own = e.OOMKills > 0 && shortages > 0
	if e.PidsDenied, err = cgroupfs.Key(g.dir, "pids.events", "max"); err != nil {
		return e, err
	}
	// cpu.stat has throttling only with the cpu controller.
	if err = e.throttling(g.dir, "throttled_usec", time.Microsecond); errors.Is(err, cgroupfs.ErrNoKey) {
		err = nil
	}
	return e, err
}

func (g v2) kill() error { return cgroupfs.Write(g.dir, "cgroup.kill", "1") }

// onOOM has nothing to do: memory.oom.group has the kernel kill all.
func (v2) onOOM(func() bool) (stop func() error, err error) { return func() error { return nil }, nil }

func (g v2) holdsSwap() bool { return cgroupfs.Exists(g.dir, "memory.swap.max") }
