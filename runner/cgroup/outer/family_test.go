package outer

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOwnsWhileGroupVanishes: a group below that is removed while processes are read makes no stranger.
func TestOwnsWhileGroupVanishes(t *testing.T) {
	top := t.TempDir()
	stat, vanishes := filepath.Join(top, "proc/78/stat"), filepath.Join(top, "group/b")
	for _, err := range []error{
		os.MkdirAll(filepath.Dir(stat), 0o700), os.MkdirAll(filepath.Join(top, "group/a"), 0o700), os.MkdirAll(vanishes, 0o700),
		os.WriteFile(filepath.Join(top, "group/a/cgroup.procs"), []byte("78\n"), 0o600),
		unix.Mkfifo(stat, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	written := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(stat, os.O_WRONLY, 0) // waits for the reader
		if err != nil {
			written <- err
			return
		}
		defer f.Close()
		const child = "78 (x) S 77 78"
		for _, err = range []error{os.Remove(vanishes), os.Remove(stat), os.WriteFile(stat, []byte(child), 0o600)} {
			if err != nil {
				t.Error(err)
			}
		}
		_, err = f.WriteString(child)
		written <- err
	}()
	if !(family{filepath.Join(top, "proc"), 77}).owns(filepath.Join(top, "group")) {
		t.Error("the group is not the family's")
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
