package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// readUsage adds up the processes of the supervisor's PID namespace but the supervisor.
func readUsage(proc string) (Usage, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return Usage{}, err
	}
	var u Usage
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == 1 {
			continue
		}
		pages, err := residentPages(filepath.Join(proc, e.Name(), "statm"))
		if err != nil {
			continue // it has ended meanwhile
		}
		u.Processes++
		u.Memory += pages * int64(os.Getpagesize())
	}
	return u, nil
}

// residentPages reads the second field of proc_pid_statm(5).
func residentPages(path string) (int64, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(raw), &size, &resident); err != nil {
		return 0, err
	}
	return resident, nil
}
