package dockercmd

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTakePlace(t *testing.T) {
	t.Parallel()
	t.Run("the same file system", func(t *testing.T) { takesPlace(t, t.TempDir()) })
	t.Run("another file system", func(t *testing.T) {
		dir, err := os.MkdirTemp("/dev/shm", "kept")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		takesPlace(t, dir)
	})
}

func takesPlace(t *testing.T, dir string) {
	input := t.TempDir()
	put(t, filepath.Join(input, "log"), "input")
	out := t.TempDir()
	for name, content := range map[string]string{"changed": "before", "removed/file": "", "same": "as it was", "log": "", "gone/log": "", "link/log": "", "file/log": ""} {
		put(t, filepath.Join(out, name), content)
	}
	before, err := layout{out: &bind{source: out}}.fill()
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "kept")
	for name, content := range map[string]string{"new/file": "new", "changed": "after", "same": "as it was", "log": "stale", "file": ""} {
		put(t, filepath.Join(kept, name), content)
	}
	if err := os.Symlink(input, filepath.Join(kept, "link")); err != nil {
		t.Fatal(err)
	}
	same, err := os.Stat(filepath.Join(out, "same"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"log", "late", "gone/log", "link/log", "file/log"} { // an engine writes meanwhile
		put(t, filepath.Join(out, name), "outside")
	}
	if err := before.takePlace(t.Context(), kept, out); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"new/file": "new", "changed": "after", "removed": "", "same": "as it was", "log": "outside", "late": "outside",
		"gone/log": "outside", "link/log": "outside", "file/log": "outside",
	} {
		if data, err := os.ReadFile(filepath.Join(out, name)); string(data) != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(input, "log")); string(data) != "input" {
		t.Errorf("the input has %q, %v", data, err)
	}
	if now, err := os.Stat(filepath.Join(out, "same")); err != nil || !os.SameFile(same, now) {
		t.Errorf("a file that did not change is another one, %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(out, ".scidex-oci-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestTakePlaceFails: what was written outside is at its place also where what the run left cannot be put back.
func TestTakePlaceFails(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	before, err := layout{out: &bind{source: out}}.fill()
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(out, "deep/log"), "outside")
	if err := before.takePlace(t.Context(), filepath.Join(t.TempDir(), "none"), out); err == nil {
		t.Error("a directory that is not there was put back")
	}
	if data, err := os.ReadFile(filepath.Join(out, "deep/log")); string(data) != "outside" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestTakePlaceReplaced: a directory that has taken the place of the output directory is not touched.
func TestTakePlaceReplaced(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	out, other, kept := filepath.Join(top, "out"), filepath.Join(top, "other"), filepath.Join(top, "kept")
	for _, name := range []string{out, other, kept} {
		put(t, filepath.Join(name, "file"), name)
	}
	before, err := layout{out: &bind{source: out}}.fill()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(out, out+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, out); err != nil {
		t.Fatal(err)
	}
	if err := before.takePlace(t.Context(), kept, out); err == nil {
		t.Error("it was taken for the output directory")
	}
	for _, name := range []string{other, kept} {
		if data, _ := os.ReadFile(filepath.Join(name, "file")); string(data) != name {
			t.Errorf("%s has %q", name, data)
		}
	}
}
