package e2e

import (
	"slices"
	"strings"
	"testing"
)

// TestRefusalNamesWhatIsMissing: where nobody can hold a limit, a run is refused with one sentence that says what is
// missing and what to do about it, whichever limit it asks for, and nothing of it is made.
func TestRefusalNamesWhatIsMissing(t *testing.T) {
	if theHost.cgroup {
		t.Log("not covered here: all limits can be held; the tests as ordinary users do, and in the virtual machine those without a controller")
		return
	}
	words := flags("cgroup v1, where only root can set limits", "run as root")
	if unified() {
		words = flags("systemd's user manager is not running", "`loginctl enable-linger")
	}
	h := newHouse(t)
	h.setenv("SCIDEX_OCI_LIMITS", "enforce")
	for _, limit := range []string{"--memory=64MiB", "--pids=20", "--cpus=0.5", "--timeout=1m"} {
		id := h.fresh()
		h.bad([]string{"run", "--id", id, limit, "--", "true"}, slices.Concat(words, flags("--limits best-effort"))...)
		r := h.start("--id", id, limit, "--", "true")
		r.expect(t, "error", "request", 125)
		for _, word := range words {
			if !strings.Contains(r.Message, word) {
				t.Errorf("no %q in %q", word, r.Message)
			}
		}
		h.expectNothingOf(t, r)
		if out := h.do("show", id); out.code == 0 {
			t.Errorf("a refused run is in the catalog: %s", out.stdout)
		}
	}
}
