package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckWithAnotherRoot: if two roots have one catalog, each checks the blobs of its own store.
func TestCheckWithAnotherRoot(t *testing.T) {
	h, other := newHarness(t), newHarness(t)
	other.setenv("SCIDEX_OCI_DB", "sqlite://"+filepath.Join(h.root, "catalog.db"))
	id := h.newID()
	h.start("--id", id, "--", "sh", "-c", "echo ours >x").expect(t, "complete", "exit", 0)
	other.start("--id", other.newID(), "--", "sh", "-c", "echo theirs >x").expect(t, "complete", "exit", 0)
	for _, checker := range []*harness{h, other} {
		if out := checker.mustRun("catalog", "check", "--digests").stdout; !strings.Contains(out, "0 problems\n") || !strings.Contains(out, "elsewhere  1 ") {
			t.Errorf("%s", out)
		}
	}
	if err := os.Remove(h.blobPath(h.show(id).output("x").SHA256)); err != nil {
		t.Fatal(err)
	}
	if out := h.do("catalog", "check"); out.code != 125 || !strings.Contains(out.stderr, id+"@1: output x") || !strings.Contains(out.stderr, "missing") {
		t.Errorf("what is missing of its own: %+v", out)
	}
	other.mustRun("catalog", "check")
}
