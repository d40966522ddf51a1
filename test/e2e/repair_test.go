package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// repair is catalog check --digests --repair --json.
func (h *harness) repair(code int) (report struct{ Repaired, Problems int }, stderr string) {
	h.t.Helper()
	out := h.do("catalog", "check", "--digests", "--repair", "--json")
	if err := json.Unmarshal([]byte(out.stdout), &report); out.code != code || err != nil {
		h.t.Fatalf("exit code %d, want %d, %v\n%s%s", out.code, code, err, out.stdout, out.stderr)
	}
	return report, out.stderr
}

// overwrite exchanges a blob's file for one of the same size.
func overwrite(t *testing.T, path string) {
	t.Helper()
	content := []byte(readFile(t, path))
	content[0]++
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o444); err != nil {
		t.Fatal(err)
	}
}

// TestRepair: kept and exported files and the script itself repair blobs; of a log there is no other copy.
func TestRepair(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	h.write("a.sh", "#!/bin/sh\necho x >x; echo y >y; echo said", 0o755)
	r := h.start("--id", id, "--keep", "always", "--export", "out", "--script", "a.sh")
	r.expect(t, "complete", "exit", 0)
	defer func() { _ = os.RemoveAll(r.Kept) }()
	for _, path := range []string{r.Kept + "/x", h.path("out/y")} {
		if err := os.Remove(path); err != nil { // one copy of each is enough
			t.Fatal(err)
		}
	}
	if err := os.Remove(h.blobPath(r.output("x").SHA256)); err != nil {
		t.Fatal(err)
	}
	overwrite(t, h.blobPath(r.output("y").SHA256))
	overwrite(t, h.blobPath(r.Logs.Stdout.SHA256))
	report, stderr := h.repair(125)
	if report.Repaired != 2 || report.Problems != 1 || !strings.Contains(stderr, r.Kept+"/y") || !strings.Contains(stderr, h.path("out/x")) ||
		!strings.Contains(stderr, r.Logs.Stdout.SHA256+": blob is corrupt") {
		t.Errorf("%+v\n%s", report, stderr)
	}
	if got := h.mustRun("outputs", "cat", id, "x").stdout + h.mustRun("outputs", "cat", id, "y").stdout; got != "x\ny\n" {
		t.Errorf("the outputs are %q", got)
	}
}

// TestS3Repair: a bucket is repaired from the local copies of its blobs, and a second time nothing is left to do.
func TestS3Repair(t *testing.T) {
	h, b := inS3(t)
	id := h.newID()
	r := h.start("--id", id, "--", "sh", "-c", "head -c 200000 /dev/zero >large; echo x >small; echo said")
	r.expect(t, "complete", "exit", 0)
	for _, content := range []string{strings.Repeat("\x00", 200000), "x\n", "said\n"} {
		overwrite(t, b.blob(content))
	}
	if report, stderr := h.repair(0); report.Repaired != 3 || report.Problems != 0 {
		t.Errorf("%+v\n%s", report, stderr)
	}
	h.mustRun("gc") // empties what is kept here
	if report, stderr := h.repair(0); report.Repaired != 0 {
		t.Errorf("%+v\n%s", report, stderr)
	}
}
