package procs

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/host/procfs"
)

// CountRunning counts a container's threads that run or sleep interruptibly, except init's. One in state D, such as the
// parent of a vfork, stops before it runs again.
func CountRunning(proc string) (running int, err error) {
	tasks, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "task", "[0-9]*"))
	if err != nil {
		return 0, err
	}
	own := filepath.Join(proc, "1") + "/"
	for _, task := range tasks {
		if strings.HasPrefix(task, own) {
			continue
		}
		stat, err := procfs.ReadStat(task)
		if err != nil {
			continue // it has ended
		}
		state, err := stat.State()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", task, err)
		}
		if state == "R" || state == "S" {
			running++
		}
	}
	return running, nil
}
