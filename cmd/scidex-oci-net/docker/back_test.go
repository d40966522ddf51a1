package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// filled is the output directory, with its inputs.
func filled(t *testing.T, l layout) *output {
	t.Helper()
	o, err := l.fill(t.Context(), allow)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.close() })
	return o
}

func allow(string, *os.File) error { return nil }

func takePlace(t *testing.T, o *output, dir string) error {
	t.Helper()
	kept, err := userdir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	return o.takePlace(t.Context(), kept)
}

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

// TestTakePlaceOfAnother: what the run left becomes the files of the user to whom the output directory belongs.
func TestTakePlaceOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root works with the rights of others")
	}
	for name, at := range map[string]string{"the same file system": "", "another file system": "/dev/shm"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, err := os.MkdirTemp(at, "kept")
			try(t, err)
			t.Cleanup(func() { try(t, os.RemoveAll(top)) })
			out, kept := t.TempDir(), filepath.Join(top, "kept")
			for name, content := range map[string]string{"old/file": "", "same": "same"} {
				put(t, filepath.Join(out, name), content)
			}
			put(t, filepath.Join(kept, "new/file"), "new")
			put(t, filepath.Join(kept, "same"), "same")
			try(t, os.Symlink("file", filepath.Join(kept, "new/link")))
			foreign(t, out)
			o := filled(t, layout{out: &bind{source: out}})
			put(t, filepath.Join(out, "late"), "late")
			try(t, os.Lchown(filepath.Join(out, "late"), other, other), takePlace(t, o, kept))
			var names []string
			try(t, filepath.WalkDir(out, func(name string, _ os.DirEntry, err error) error {
				try(t, err)
				var st unix.Stat_t
				if err := unix.Lstat(name, &st); err != nil || st.Uid != other {
					t.Errorf("%s is of uid %d, %v", name, st.Uid, err)
				}
				rest, err := filepath.Rel(out, name)
				names = append(names, rest)
				return err
			}))
			if got := strings.Join(names, " "); got != ". late new new/file new/link same" {
				t.Errorf("the output directory has %q", got)
			}
			if left, err := os.ReadDir(top); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

func takesPlace(t *testing.T, dir string) {
	input := t.TempDir()
	put(t, filepath.Join(input, "log"), "input")
	out := t.TempDir()
	for name, content := range map[string]string{"changed": "before", "removed/file": "", "same": "as it was", "log": "", "gone/log": "", "link/log": "", "file/log": ""} {
		put(t, filepath.Join(out, name), content)
	}
	o := filled(t, layout{out: &bind{source: out}})
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
	if err := takePlace(t, o, kept); err != nil {
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

// TestTakePlaceFails: what was written outside is at its place also if what the run left cannot be put back.
func TestTakePlaceFails(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	o := filled(t, layout{out: &bind{source: out}})
	put(t, filepath.Join(out, "deep/log"), "outside")
	kept := t.TempDir()
	dir, err := userdir.Open(kept)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	if err := o.takePlace(t.Context(), dir); err == nil {
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
	o := filled(t, layout{out: &bind{source: out}})
	if err := os.Rename(out, out+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, out); err != nil {
		t.Fatal(err)
	}
	if err := takePlace(t, o, kept); err == nil {
		t.Error("it was taken for the output directory")
	}
	for _, name := range []string{other, kept} {
		if data, _ := os.ReadFile(filepath.Join(name, "file")); string(data) != name {
			t.Errorf("%s has %q", name, data)
		}
	}
}
