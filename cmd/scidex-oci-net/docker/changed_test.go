package docker

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCheckInputs: each change that a run can make in a copy of an input is found.
func TestCheckInputs(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	put(t, filepath.Join(source, "file"), "before")
	put(t, filepath.Join(source, "dir/deep/file"), "deep")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(source, "dir"), link); err != nil {
		t.Fatal(err)
	}
	l := layout{out: &bind{source: t.TempDir(), target: "/job"}, into: []bind{{source: filepath.Join(source, "file"), target: "/job/f"}, {source: link, target: "/job/d"}}}
	o := filled(t, l)
	for name, change := range map[string]func(kept string) error{
		"":             func(string) error { return nil },
		"another file": func(kept string) error { return os.WriteFile(filepath.Join(kept, "f"), []byte("after!"), 0o600) },
		"no file":      func(kept string) error { return os.Remove(filepath.Join(kept, "f")) },
		"no directory": func(kept string) error { return os.RemoveAll(filepath.Join(kept, "d")) },
		"one more":     func(kept string) error { return os.Mkdir(filepath.Join(kept, "d/more"), 0o700) },
		"one less":     func(kept string) error { return os.Remove(filepath.Join(kept, "d/deep/file")) },
		"another deep": func(kept string) error {
			return os.WriteFile(filepath.Join(kept, "d/deep/file"), []byte("DEEP"), 0o600)
		},
		"a link in place": func(kept string) error { return os.Rename(filepath.Join(kept, "link"), filepath.Join(kept, "f")) },
	} {
		kept := t.TempDir()
		put(t, filepath.Join(kept, "f"), "before")
		put(t, filepath.Join(kept, "d/deep/file"), "deep")
		put(t, filepath.Join(kept, "other"), "before")
		if err := os.Symlink("other", filepath.Join(kept, "link")); err != nil {
			t.Fatal(err)
		}
		if err := change(kept); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(kept)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := l.checkInputs(o, root); (err != nil) != (name != "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
