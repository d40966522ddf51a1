package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/test/durable"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func text(content string) func(*os.File) error {
	return func(f *os.File) error {
		_, err := f.WriteString(content)
		return err
	}
}

// holds checks that a directory has these files and no others.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		got, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if content, known := want[e.Name()]; err != nil || !known || string(got) != content {
			t.Errorf("%s is %q: %v", e.Name(), got, err)
		}
	}
	if len(entries) != len(want) {
		t.Errorf("there are %d files, not %d", len(entries), len(want))
	}
}

func TestWriteReplacesTheWholeFile(t *testing.T) {
	dir := t.TempDir()
	path, temp := filepath.Join(dir, "file"), filepath.Join(dir, "file.new")
	must(t, atomicfile.Write(path, temp, atomicfile.Durable, text("a long first content")))
	must(t, os.WriteFile(temp, []byte("what a killed process left, which is even longer"), 0o600))
	must(t, atomicfile.Write(path, temp, atomicfile.Durable, text("short")))
	holds(t, dir, map[string]string{"file": "short"})
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode() != 0o600 {
		t.Error(info.Mode())
	}
}

// A file that cannot be written, as on a full disk, leaves the old one, and nothing else.
func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path, temp := filepath.Join(dir, "file"), filepath.Join(dir, "file.new")
	must(t, atomicfile.Write(path, temp, atomicfile.Volatile, text("old")))
	err := atomicfile.Write(path, temp, atomicfile.Durable, func(f *os.File) error {
		return errors.Join(text("ne")(f), unix.ENOSPC)
	})
	if !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
	holds(t, dir, map[string]string{"file": "old"})
}

func TestFailedRenameLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "taken"), 0o700))
	temp := filepath.Join(dir, "temp")
	if err := atomicfile.Write(filepath.Join(dir, "taken"), temp, atomicfile.Durable, text("x")); err == nil {
		t.Error("a directory was replaced")
	}
	if _, err := os.Lstat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestCreateFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "precious"), []byte("content"), 0o600))
	must(t, os.Symlink("precious", filepath.Join(dir, "temp")))
	if _, err := atomicfile.Create(filepath.Join(dir, "temp")); !errors.Is(err, unix.ELOOP) {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "precious")); string(got) != "content" || err != nil {
		t.Error(string(got), err)
	}
}

func TestFirstLinkGivesTheName(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	create := func(name, content string) atomicfile.File {
		f, err := atomicfile.Create(filepath.Join(dir, name))
		must(t, err)
		must(t, text(content)(f.File))
		return f
	}
	first, second := create("1", "first"), create("2", "second")
	must(t, first.Link(path, atomicfile.Durable))
	if err := second.Link(path, atomicfile.Durable); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	holds(t, dir, map[string]string{"file": "first"})
	// Over NFS link(2) may have succeeded although it reports that the name exists.
	again := create("3", "again")
	must(t, os.Remove(path))
	must(t, os.Link(again.Name(), path))
	must(t, again.Link(path, atomicfile.Durable))
	holds(t, dir, map[string]string{"file": "again"})
}

func TestDurability(t *testing.T) {
	dir := t.TempDir()
	durable.Check(t, func() error {
		return atomicfile.Write(filepath.Join(dir, "replaced"), filepath.Join(dir, "temp"), atomicfile.Durable, text("x"))
	})
	durable.Check(t, func() error {
		f, err := atomicfile.Create(filepath.Join(dir, "temp"))
		if err != nil {
			return err
		}
		return f.Link(filepath.Join(dir, "linked"), atomicfile.Durable)
	})
	durable.Check(t, func() error {
		err := atomicfile.Write(filepath.Join(dir, "content"), filepath.Join(dir, "temp"), atomicfile.Content, text("x"))
		return errors.Join(err, atomicfile.SyncDir(dir))
	})
}

func TestSyncDirRefusesFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("x", 10))
	must(t, os.WriteFile(path, nil, 0o600))
	if err := atomicfile.SyncDir(path); !errors.Is(err, unix.ENOTDIR) {
		t.Error(err)
	}
}
