package procs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CountRunning counts a container's threads that run or sleep interruptibly, except init's. One in state D, such as the
// parent of a vfork, stops before it runs again.
func CountRunning(proc string) (running int, err error) {
	tasks, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "task", "[0-9]*", "stat"))
	if err != nil {
		return 0, err
	}
	own := filepath.Join(proc, "1") + "/"
	for _, task := range tasks {
		if strings.HasPrefix(task, own) {
			continue
		}
		raw, err := os.ReadFile(task)
		if err != nil {
			continue // it has ended
		}
		state, err := stateOf(string(raw))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", task, err)
		}
		if state == "R" || state == "S" {
			running++
		}
	}
	return running, nil
}

// stateOf reads the state in proc_pid_stat(5), which follows the name.
func stateOf(stat string) (string, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) == 0 {
		return "", errors.New("it has too few fields")
	}
	return fields[0], nil
}
