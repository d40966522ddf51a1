package e2e

import "testing"

// TestStandardLibrary runs what science needs of Python's standard library inside.
func TestStandardLibrary(t *testing.T) {
	h := newHouse(t)
	r := h.analysis("library.py", []string{"--memory", "1GiB"})
	if r.State != "complete" {
		t.Error(h.stderrOf(r))
	}
	r.expect(t, "complete", "exit", 0)
}
