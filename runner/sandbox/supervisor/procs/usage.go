package procs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
)

// clockTick is the unit of CPU time in /proc: the kernel reports 100 a second on all of Go's architectures (USER_HZ,
// times(2)).
const clockTick = time.Second / 100

// Usage sums the processes of a container, including its init, which has reaped others.
func Usage(proc string) (protocol.Usage, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return protocol.Usage{}, err
	}
	var sum protocol.Usage
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(proc, e.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		one, err := parseStat(string(raw))
		if err != nil {
			return protocol.Usage{}, fmt.Errorf("%s/%s/stat: %w", proc, e.Name(), err)
		}
		sum.Processes += one.Processes
		sum.Memory += one.Memory
		sum.CPU += one.CPU
	}
	return sum, nil
}

// Fields of proc_pid_stat(5) after the name, from 0.
const (
	statUTime, statSTime, statCUTime, statCSTime = 11, 12, 13, 14
	statThreads, statRSS                         = 17, 21
)

// parseStat reads proc_pid_stat(5). The analysis chooses the name, which may hold any byte; no later field holds a
// parenthesis.
func parseStat(text string) (u protocol.Usage, err error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= statRSS {
		return u, fmt.Errorf("%q has too few fields", text)
	}
	number := func(field int) int64 {
		n, bad := strconv.ParseInt(fields[field], 10, 64)
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
