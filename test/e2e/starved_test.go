package e2e

import (
	"strings"
	"testing"
)

// TestStarvedInit: an analysis that keeps the processors busy cannot take them from its container's init, and a kill
// does not wait until a process of the analysis is scheduled.
func TestStarvedInit(t *testing.T) {
	h := newHarness(t)
	for name, end := range map[string][]string{"now": {"stop", "--now"}, "after its grace": {"stop"}} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			l := h.launch(h.newID(), "--pids=200", "--grace=100ms", "--project", testdata(t, "."), "--script", testdata(t, "starve.py"))
			l.await("ready")
			h.mustRun(append(end, l.id)...)
			r := l.wait()
			r.expect(t, "canceled", "stopped", 143)
			line, _, _ := strings.Cut(h.stdoutOf(r), "\n")
			for try, got := range decodeVerdicts(t, []byte(line)) {
				if got != "EPERM" {
					t.Errorf("%s: %s", try, got)
				}
			}
		})
	}
}

// TestSeccompSparesInit: calls that are refused for the init are allowed for other processes, as libraries need them.
func TestSeccompSparesInit(t *testing.T) {
	h := newHarness(t)
	r := h.analysis("starve.py", nil, "itself")
	r.expect(t, "complete", "exit", 0)
	for try, got := range decodeVerdicts(t, []byte(h.stdoutOf(r))) {
		if got != "ok" {
			t.Errorf("%s: %s", try, got)
		}
	}
}
