package selftest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
)

// supervisors returns the PIDs on the host of the n supervisors that this process is starting. It waits for them for a few
// seconds.
func supervisors(n int) (found []int) {
	for end := time.Now().Add(canary.Timeout); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if found = children(); len(found) >= n {
			break
		}
	}
	return found
}

// children returns the PIDs of this process' children that are parts of a sandbox, by their argv[0].
func children() (found []int) {
	own := strconv.Itoa(os.Getpid())
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// The program's name is in parentheses and may contain some (proc_pid_stat(5)).
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
