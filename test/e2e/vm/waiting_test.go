package vm

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// waiting is a run that waits for a flag to end.
type waiting struct {
	person
	id, dir string
	cmd     *exec.Cmd
	stdout  bytes.Buffer
}

// start starts a run that waits, by a prefix of commands, with flags of its own, and returns when the analysis runs.
func (p person) start(prefix []string, flags ...string) *waiting {
	p.t.Helper()
	w := p.launch(prefix, flags...)
	w.await()
	return w
}

// launch returns at once.
func (p person) launch(prefix []string, flags ...string) *waiting {
	p.t.Helper()
	w := &waiting{person: p, id: "vm-" + strings.ToLower(rand.Text()[:10])}
	w.dir = filepath.Join("/tmp", w.id) // every user can read it
	if err := errors.Join(os.Mkdir(w.dir, 0o755), os.WriteFile(w.path("flag"), nil, 0o644)); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = os.RemoveAll(w.dir) })
	// The flag is changed while the run goes on, which a digest of it would report.
	argv := append(slices.Clone(prefix), bin, "run", "--json", "--digest-inputs", "script", "--id", w.id, "--input", w.path("flag")+":/inputs/flag")
	argv = append(append(argv, flags...), "--", "sh", "-c", "echo ready; until [ -s /inputs/flag ]; do sleep 0.2; done")
	w.cmd = p.command(argv...)
	w.cmd.Stdout = &w.stdout
	said, err := os.Create(w.path("stderr"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer said.Close()
	w.cmd.Stderr = said
	if err := w.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = w.cmd.Process.Kill(); _ = w.cmd.Wait() })
	return w
}

func (w *waiting) path(name string) string { return filepath.Join(w.dir, name) }

// await waits until the analysis runs.
func (w *waiting) await() {
	w.t.Helper()
	until(w.t, "the analysis starts", func() bool {
		text, err := os.ReadFile(w.path("stderr"))
		if strings.Contains(string(text), "scidex-oci: ") {
			w.t.Fatalf("it did not start: %s%s", text, w.stdout.String())
		}
		return err == nil && strings.Contains(string(text), "ready\n")
	})
}

// end lets the analysis end by itself.
func (w *waiting) end() result {
	w.t.Helper()
	if err := os.WriteFile(w.path("flag"), []byte("end"), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return w.ended()
}

// ended waits for the end of the launcher.
func (w *waiting) ended() result {
	w.t.Helper()
	err := w.cmd.Wait()
	return w.decode(w.stdout.Bytes(), err)
}

// group is the directory of the run's control group, whose name ends with a random word.
func (w *waiting) group() string {
	w.t.Helper()
	found := dirs("scidex-oci-" + w.id + "@1-*")
	if len(found) != 1 {
		w.t.Fatalf("control groups of the run: %q", found)
	}
	return found[0]
}

// expectLimits reads the kernel's own files.
func expectLimits(t *testing.T, group string, want map[string]string) {
	t.Helper()
	for file, value := range want {
		text, err := os.ReadFile(filepath.Join(group, file))
		if got := strings.TrimSpace(string(text)); err != nil || got != value {
			t.Errorf("%s is %q (%v), want %q", file, got, err, value)
		}
	}
}
