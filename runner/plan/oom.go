package plan

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// likelier raises an out-of-memory score to the launcher's own, below which only the host's root can go
// (proc_pid_oom_score_adj(5)).
func likelier(score int) *int {
	raw, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return &score
	}
	if own, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && own > score {
		score = own
	}
	return &score
}

// FixOOMScore writes the score once more as the host's root, which makes it the minimum that the process can set
// (proc_pid_oom_score_adj(5)). Root of a container may not; then the score is only set.
func FixOOMScore(pid int) {
	path := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
	if score, err := os.ReadFile(path); err == nil {
		_ = os.WriteFile(path, score, 0)
	}
}
