package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tmpfiles lets systemd-tmpfiles remove files in dir that were last changed more than a day ago. Its configuration is
// one line for dir, and the lines of more.
func (h *harness) tmpfiles(dir, more string) {
	h.t.Helper()
	conf := h.write("age.conf", "e "+dir+" - - - mM:1d\n"+more, 0o644)
	if out := h.finish(h.command("systemd-tmpfiles", "--clean", conf)); out.code != 0 {
		h.t.Fatalf("systemd-tmpfiles: exit code %d: %s", out.code, out.stderr)
	}
}

// olden is the same tree in the shell of an analysis and in oldTree.
const olden = `mkdir -p deep/er && echo precious >deep/er/old && touch -d 2001-01-01 deep/er/old deep/er deep .; `

// oldTree makes a directory as a run's, of which nobody holds a lock, and returns the file in it.
func oldTree(t *testing.T, dir string) string {
	t.Helper()
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", olden)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(work, "deep", "er", "old")
}

// TestTmpfiles: systemd-tmpfiles removes old files in directories with names like a run's, but not those of a living
// run. For a kept directory the policy of the host and the line of docs/systemd apply.
func TestTmpfiles(t *testing.T) {
	if _, err := exec.LookPath("systemd-tmpfiles"); err != nil {
		t.Skip("systemd-tmpfiles is not installed: that it spares live runs is not tested")
	}
	h := newHarness(t)
	tmp := h.path("tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	h.setenv("SCIDEX_OCI_TMP", tmp)

	id, end := h.newID(), h.flag()
	l := h.launch(id, "--keep", "always", "--input", end.input(), "--", "sh", "-c", olden+"echo ready; "+awaited+"; cat deep/er/old")
	l.await("ready")
	nobodys := oldTree(t, filepath.Join(tmp, "scidex-analysis-nobody"))
	recent := oldTree(t, filepath.Join(tmp, "scidex-analysis-recent"))
	if err := os.Chtimes(recent, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	h.tmpfiles(tmp, "")
	if exists(nobodys) || !exists(recent) {
		t.Errorf("without a lock: the old file is there: %v, the recent one: %v", exists(nobodys), exists(recent))
	}
	end.raise()
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	if got := h.stdoutOf(r); !strings.HasSuffix(got, "precious\n") {
		t.Errorf("the analysis reads %q of its old file", got)
	}
	if len(r.Outputs) != 1 || r.Outputs[0].Path != "deep/er/old" {
		t.Errorf("outputs %v", r.paths())
	}

	kept := filepath.Join(tmp, "scidex-analysis-"+id, "deep", "er", "old")
	shipped := strings.ReplaceAll(readFile(t, "../../docs/systemd/scidex-oci.conf"), "/tmp/", tmp+"/")
	h.tmpfiles(tmp, shipped)
	if !exists(kept) {
		t.Errorf("%s went, and docs/systemd/scidex-oci.conf excludes it", kept)
	}
	h.tmpfiles(tmp, "")
	if exists(kept) {
		t.Errorf("%s is there: of a run that has ended a lock is held", kept)
	}
}
