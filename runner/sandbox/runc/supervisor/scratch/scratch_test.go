package scratch

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.csv", "sub/b.csv", "sub/x/y/deep", ".cache/c", "new\nline"} {
		write(t, filepath.Join(dir, name), "x")
	}
	write(t, filepath.Join(dir, "empty"), "")
	if err := cmp.Or(unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600), os.Symlink("/etc", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	d := Open(os.Getpid(), []string{dir, filepath.Join(dir, "missing"), filepath.Join(dir, "link")})
	if err := os.RemoveAll(filepath.Join(dir, "sub", "x")); err != nil {
		t.Fatal(err)
	}
	got := d.Names()
	slices.Sort(got)
	if want := []string{dir + "/a.csv", dir + `/new\nline`, dir + "/sub/b.csv"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	d.Close()
	d.Close()
	(*Dirs)(nil).Close()
}

// TestNamesAreBounded: neither many names nor a deep tree take long.
func TestNamesAreBounded(t *testing.T) {
	dir := t.TempDir()
	deep := dir
	for i := range maxDepth + 2 {
		deep = filepath.Join(deep, fmt.Sprint(i))
		write(t, filepath.Join(deep, "f"), "x")
	}
	for i := range maxNames + 10 {
		write(t, filepath.Join(dir, fmt.Sprintf("many/%d", i)), "x")
	}
	d := Open(os.Getpid(), []string{dir})
	defer d.Close()
	if got := d.Names(); len(got) != maxNames || slices.Contains(got, filepath.Join(deep, "f")) {
		t.Errorf("%d names, want %d: %q", len(got), maxNames, got)
	}
}
