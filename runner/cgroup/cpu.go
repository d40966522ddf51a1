package cgroup

import (
	"time"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// throttling reads cpu.stat, whose time has another name and unit in each version.
func (e *Evidence) throttling(dir, key string, unit time.Duration) error {
	values, err := cgroupfs.Keys(dir, "cpu.stat", "nr_periods", "nr_throttled", key)
	e.Periods, e.ThrottledPeriods, e.Throttled = values[0], values[1], time.Duration(values[2])*unit
	return err
}

// cpuPeriod is the CPU quota's period in microseconds, the kernel's default.
const cpuPeriod = 100_000

// quota in microseconds per period; the kernel's minimum is one millisecond.
func quota(cpus float64) int64 { return max(int64(cpus*cpuPeriod+0.5), 1000) }
