package e2e

import (
	"slices"
	"syscall"
	"testing"
)

// TestStopped sends the launcher the signals of a terminal and of an orchestrator. The analysis gets SIGTERM for each
// of them, and its files are harvested.
func TestStopped(t *testing.T) {
	for name, c := range map[string]struct {
		signal  syscall.Signal
		command string
		code    int
		died    string // of which signal, if of one
		outputs []string
	}{
		"SIGINT":           {syscall.SIGINT, "echo ready; exec sleep 1000", 130, "SIGTERM", []string{"before"}},
		"SIGQUIT":          {syscall.SIGQUIT, "echo ready; exec sleep 1000", 131, "SIGTERM", []string{"before"}},
		"SIGTERM":          {syscall.SIGTERM, "echo ready; exec sleep 1000", 143, "SIGTERM", []string{"before"}},
		"SIGHUP":           {syscall.SIGHUP, "echo ready; exec sleep 1000", 129, "SIGTERM", []string{"before"}},
		"SIGTERM, handled": {syscall.SIGTERM, "trap 'echo x >after; exit 0' TERM; echo ready; while :; do sleep 0.1; done", 143, "", []string{"after", "before"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			id := h.newID()
			l := h.launch(id, "--grace", "10m", "--", "sh", "-c", "echo x >before; "+c.command, id+"-marker")
			l.await("ready")
			all := l.family()
			l.signal(c.signal)
			r := l.wait()
			r.expect(t, "canceled", "stopped", c.code)
			got := ""
			if r.Signal != nil {
				got = *r.Signal
			}
			if got != c.died {
				t.Errorf("the analysis died of %q, want %q", got, c.died)
			}
			paths := r.paths()
			slices.Sort(paths)
			if !slices.Equal(paths, c.outputs) {
				t.Errorf("outputs %q, want %q", paths, c.outputs)
			}
			if !r.output("before").Partial {
				t.Error("outputs of a run that was stopped are not marked partial")
			}
			expectGone(t, all, id)
			h.show(id).expect(t, "canceled", "stopped", c.code)
		})
	}
}

// TestSecondSignalInsists: an analysis that ignores SIGTERM ends with the second signal and not with its grace period.
func TestSecondSignalInsists(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	l := h.launch(id, "--grace", "10m", "--", "sh", "-c",
		"trap 'echo heard' TERM; echo x >before; echo ready; while :; do sleep 0.1; done", id+"-marker")
	l.await("ready")
	l.signal(syscall.SIGINT)
	l.await("heard")
	l.signal(syscall.SIGTERM)
	r := l.wait()
	r.expect(t, "canceled", "stopped", 130)
	if r.output("before").SHA256 == "" {
		t.Errorf("outputs %+v", r.Outputs)
	}
}

// TestGraceEnds: an analysis that ignores SIGTERM is killed when its grace period ends.
func TestGraceEnds(t *testing.T) {
	h := newHarness(t)
	l := h.launch(h.newID(), "--grace", "100ms", "--", "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done")
	l.await("ready")
	l.signal(syscall.SIGTERM)
	r := l.wait()
	r.expect(t, "canceled", "stopped", 143)
	if r.Signal == nil || *r.Signal != "SIGKILL" {
		t.Errorf("signal %v, want SIGKILL", r.Signal)
	}
}
