package spec

import (
	"fmt"
	"time"
)

// The bounds of limits: below the lower ones nothing could start; above the upper ones it is a mistake. Zero is unset.

func checkSize(field string, size, least, most Size) error {
	if size == 0 || size >= least && size <= most {
		return nil
	}
	return badField(field, "%s is out of bounds: it must be at least %s and at most %s%s", size, least, most, withUnit(size, least, most))
}

// withUnit suggests GiB for a number without a unit, or MiB if it is too large for GiB.
func withUnit(size, least, most Size) string {
	unit := GiB
	if size > 128 {
		unit = MiB
	}
	if size < 1 || size > 1<<16 || size*unit < least || size*unit > most {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", size*unit)
}

func checkTime(field string, d Duration, least, most time.Duration) error {
	if d == 0 || time.Duration(d) >= least && time.Duration(d) <= most {
		return nil
	}
	return badField(field, "%s is out of bounds: it must be at least %s and at most %s", d, Duration(least), Duration(most))
}

func checkNumber[T int64 | float64](field string, number T, check func(T) error) error {
	if number == 0 {
		return nil
	}
	if err := check(number); err != nil {
		return badField(field, "%v", err)
	}
	return nil
}

func checkCPUs(cpus float64) error {
	if cpus >= 0.01 && cpus <= 4096 { // false for NaN
		return nil
	}
	return badCPUs(fmt.Sprint(cpus))
}

func badCPUs(value string) error {
	return fmt.Errorf("%s is no number of cores: it must be at least 0.01 and at most 4096, such as 1 or 0.5", value)
}

// checkPids bounds processes and threads: the init takes one, so that with one nothing could start; PID_MAX_LIMIT is
// the kernel's maximum (proc_sys_kernel(5), pid_max).
func checkPids(pids int64) error {
	if pids < 2 || pids > 4194304 {
		return badPids(fmt.Sprint(pids))
	}
	return nil
}

func badPids(value string) error {
	return fmt.Errorf("%s is no number of processes: it must be at least 2 (the container's init takes one, the analysis another) and at most 4194304", value)
}

// checkWorkFiles bounds the names in /work. The watchdog keeps each in memory while counting: at the upper bound, some
// 400 MiB in the supervisor.
func checkWorkFiles(files int64) error {
	if files < 1 || files > 10_000_000 {
		return badWorkFiles(fmt.Sprint(files))
	}
	return nil
}

func badWorkFiles(value string) error {
	return fmt.Errorf("%s is no number of files: it must be at least 1 and at most 10000000", value)
}
