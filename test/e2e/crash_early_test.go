package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSupervisorKilledBeforeItIsReady kills the supervisor as soon as the launcher has one: the launcher notices and
// does not wait for its first message.
func TestSupervisorKilledBeforeItIsReady(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls") // makes the catalog
	killed := 0
	for range 5 {
		id := h.newID()
		l := h.launch(id, "--", "true")
		killed += killFirstChild(l)
		l.expectLostOrTooLate()
	}
	if killed == 0 {
		t.Error("no launcher was seen with a child")
	}
}

// TestSupervisorKilledAtTheGate kills the supervisor while the launcher is stopped before it moves the container into
// its control group: a missing process is no error of the sandbox.
func TestSupervisorKilledAtTheGate(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls") // makes the catalog
	killed := 0
	for i := range 20 {
		id := h.newID()
		l := h.launch(id, "--", "true")
		killed += killAboveContainer(l, time.Duration(10*i)*time.Millisecond)
		l.expectLostOrTooLate()
	}
	if killed == 0 {
		t.Error("no supervisor was seen with a child")
	}
}

// expectLostOrTooLate waits for the end of a run whose supervisor was killed, or had ended by then.
func (l *launch) expectLostOrTooLate() {
	t := l.h.t
	t.Helper()
	r := l.wait()
	switch why := r.State + "/" + r.Reason; {
	case why == "complete/exit":
	case why == "lost/supervisor_lost" && r.ExitCode == 125:
	case why == "error/harvest" && r.ExitCode == 125 && r.Kept != "": // the analysis had ended
		if err := os.RemoveAll(r.Kept); err != nil {
			t.Error(err)
		}
	default:
		t.Errorf("the run ended as %s, %d: %s", why, r.ExitCode, r.Message)
	}
	if c := l.h.gc(); len(c.Lost)+len(c.Removed) > 0 {
		t.Errorf("gc found %+v after %s, %q", c, r.Message, r.Warnings)
	}
}

// killAboveContainer stops the launcher when the supervisor has a child, kills the supervisor some time later, and
// returns 1, or 0 if the run was faster.
func killAboveContainer(l *launch, after time.Duration) int {
	l.h.t.Helper()
	for {
		select {
		case <-l.ended:
			return 0
		default:
		}
		for _, child := range children(l.cmd.Process.Pid) {
			if len(children(child)) == 0 {
				continue
			}
			if unix.Kill(l.cmd.Process.Pid, unix.SIGSTOP) != nil {
				return 0
			}
			time.Sleep(after) // another moment each time
			dead := unix.Kill(child, unix.SIGKILL)
			_ = unix.Kill(l.cmd.Process.Pid, unix.SIGCONT)
			if dead == nil {
				return 1
			}
		}
	}
}

// children are the processes that a process has started.
func children(pid int) (found []int) {
	for _, list := range matches(fmt.Sprintf("/proc/%d/task/*/children", pid)) { // no pause: the moment is short
		raw, _ := os.ReadFile(list) // the thread may have ended
		for _, word := range strings.Fields(string(raw)) {
			if child, err := strconv.Atoi(word); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

// innerNumber distinguishes a supervisor from newuidmap and newgidmap: it has a number in a PID namespace of its own, too.
var innerNumber = regexp.MustCompile(`(?m)^NSpid:\t\d+\t\d`)

// early is the launcher's supervisor from the moment on that it was cloned, long before it is known by its name; 0 if
// there is none.
func (l *launch) early() int {
	for _, child := range children(l.cmd.Process.Pid) {
		if status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", child)); innerNumber.Match(status) {
			return child
		}
	}
	return 0
}

// killFirstChild kills the supervisor as soon as the launcher has one and returns 1, or 0 if the launcher was faster.
func killFirstChild(l *launch) int {
	l.h.t.Helper()
	for {
		select {
		case <-l.ended:
			return 0
		default:
		}
		if child := l.early(); child != 0 && unix.Kill(child, unix.SIGKILL) == nil {
			return 1
		}
	}
}
