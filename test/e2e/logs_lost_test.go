package e2e

import "testing"

// TestLogsOfALostRun: a run that gc has marked lost has no report, and so no logs. The command says so, and that is no error.
func TestLogsOfALostRun(t *testing.T) {
	h := newHarness(t)
	id := h.killed()
	h.gc()
	for _, args := range [][]string{{"logs", id}, {"logs", "--stderr", id}, {"logs", "--follow", id}} {
		out := h.mustRun(args...)
		if out.stdout != "" {
			t.Errorf("%q wrote %q", args, out.stdout)
		}
		checkSentence(t, out.stderr, id, "lost", "logs were not kept")
	}
}
