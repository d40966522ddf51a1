package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSupervisorKilledBeforeItIsReady kills the supervisor as soon as the launcher has one: the launcher hears of it
// and does not wait for its first word.
func TestSupervisorKilledBeforeItIsReady(t *testing.T) {
	h := newHouse(t)
	h.good("ls") // makes the catalog
	killed := 0
	for range 5 {
		id := h.fresh()
		l := h.launch(id, "--", "true")
		killed += killFirstChild(l)
		r := l.wait()
		switch why := r.State + "/" + r.Reason; {
		case why == "complete/exit": // it was seen too late
		case why == "lost/supervisor_lost" && r.ExitCode == 125:
		default:
			t.Errorf("the run ended as %s, %d: %s", why, r.ExitCode, r.Message)
		}
		if c := h.gc(); len(c.Lost)+len(c.Removed) > 0 {
			t.Errorf("gc found %+v", c)
		}
	}
	if killed == 0 {
		t.Error("no launcher was seen with a child")
	}
}

// killFirstChild kills the first process that the launcher starts and returns 1, or 0 where the launcher was faster.
func killFirstChild(l *launch) int {
	l.h.t.Helper()
	lists := fmt.Sprintf("/proc/%d/task/*/children", l.cmd.Process.Pid)
	for {
		select {
		case <-l.ended:
			return 0
		default:
		}
		for _, list := range matches(lists) { // no pause: the moment is short
			raw, _ := os.ReadFile(list) // the thread may have ended
			first, _, _ := strings.Cut(string(raw), " ")
			pid, err := strconv.Atoi(first)
			if err == nil && unix.Kill(pid, unix.SIGKILL) == nil {
				return 1
			}
		}
	}
}
