package selftest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
)

func TestDirectory(t *testing.T) {
	root := t.TempDir()
	d, err := makeDirectory(root, "selftest-1")
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{".": 0o700 | os.ModeDir, "canary": 0o755, "turn": 0o644} {
		info, err := os.Stat(d.file(name))
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	program, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if copied, err := os.Stat(d.file("canary")); err != nil || copied.Size() != program.Size() {
		t.Errorf("%v, %v", copied, err)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The turn is written to the file that the canaries have bound.
func TestTurnStaysTheSameFile(t *testing.T) {
	d := directory{check.Dir{Path: t.TempDir()}}
	if err := d.write("turn", nil); err != nil {
		t.Fatal(err)
	}
	bound, err := os.Open(d.file("turn"))
	if err != nil {
		t.Fatal(err)
	}
	defer bound.Close()
	if err := d.write("turn", []byte(canary.TurnLook)); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 10)
	if n, _ := bound.Read(text); string(text[:n]) != canary.TurnLook {
		t.Errorf("%q", text[:n])
	}
	if err := d.write("turn", []byte(canary.TurnEnd)); err != nil {
		t.Fatal(err)
	}
	if n, _ := bound.ReadAt(text, 0); string(text[:n]) != canary.TurnEnd {
		t.Errorf("%q", text[:n])
	}
}

func TestSweep(t *testing.T) {
	root := t.TempDir()
	alive, err := makeDirectory(root, "selftest-alive")
	if err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(root, "scidex-oci-selftest-dead")
	for _, dir := range []string{dead, filepath.Join(root, "scidex-oci-other")} {
		if err := os.MkdirAll(filepath.Join(dir, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(root, "scidex-oci-selftest-link")
	if err := os.Symlink(filepath.Join(root, "scidex-oci-other"), link); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		removed, err := Sweep(root, dry)
		if err != nil || len(removed) != 1 || removed[0] != dead {
			t.Errorf("dry %v: %q, %v", dry, removed, err)
		}
	}
	for path, want := range map[string]bool{dead: false, alive.Path: true, link: true, filepath.Join(root, "scidex-oci-other"): true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if removed, err := Sweep(filepath.Join(root, "none"), false); err != nil || removed != nil {
		t.Errorf("%q, %v", removed, err)
	}
	if err := alive.Remove(); err != nil {
		t.Fatal(err)
	}
}
