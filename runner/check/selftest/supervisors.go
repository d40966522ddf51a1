package selftest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// supervisors returns the numbers on the host of the supervisors that this process has begun. They take a
// moment to start; those that do not come up in time are missed by the runs as well.
func supervisors(n int) (found []int) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if found = children(); len(found) >= n {
			break
		}
	}
	return found
}

// children are this process' children that carry the name of a part of a sandbox.
func children() (found []int) {
	own := strconv.Itoa(os.Getpid())
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is a good one
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// The program's name stands in parentheses and may hold some itself (proc_pid_stat(5)).
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		line, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil || len(fields) < 2 || fields[1] != own || !bytes.HasPrefix(line, []byte("scidex-oci: ")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			found = append(found, pid)
		}
	}
	slices.Sort(found)
	return found
}
