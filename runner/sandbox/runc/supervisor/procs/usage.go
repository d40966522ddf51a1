package procs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/host/procfs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// clockTick is the unit of CPU time in /proc: the kernel reports 100 a second on all of Go's architectures (USER_HZ,
// times(2)).
const clockTick = time.Second / 100

// Usage sums the processes of a container, including its init, which has reaped others.
func Usage(proc string) (sandbox.Usage, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return sandbox.Usage{}, err
	}
	var sum sandbox.Usage
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		stat, err := procfs.ReadStat(filepath.Join(proc, e.Name()))
		if err != nil {
			continue // it has ended
		}
		one, err := usageOf(stat)
		if err != nil {
			return sandbox.Usage{}, fmt.Errorf("%s/%s/stat: %w", proc, e.Name(), err)
		}
		sum.Processes += one.Processes
		sum.Memory += one.Memory
		sum.CPU += one.CPU
	}
	return sum, nil
}

// Fields of proc_pid_stat(5).
const (
	statUTime, statSTime, statCUTime, statCSTime = 14, 15, 16, 17
	statThreads, statRSS                         = 20, 24
)

func usageOf(stat procfs.Stat) (u sandbox.Usage, err error) {
	number := func(field int) int64 {
		n, bad := stat.Number(field)
		if bad != nil {
			err = bad
		}
		return n
	}
	ticks := number(statUTime) + number(statSTime) + number(statCUTime) + number(statCSTime)
	u.CPU = time.Duration(ticks) * clockTick
	u.Processes = number(statThreads)
	u.Memory = number(statRSS) * int64(os.Getpagesize())
	return u, err
}
