package lockdir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// TestSweep removes directories that no process has locked, after their undo.
func TestSweep(t *testing.T) {
	root := filepath.Join(t.TempDir(), "[a]*") // a name is no pattern
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	held, err := Make(at("x-held"))
	if err != nil {
		t.Fatal(err)
	}
	left, err := Make(at("x-left"))
	if err != nil {
		t.Fatal(err)
	}
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x-file", "y-other"} {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var undone []string
	undo := func(path string) error { undone = append(undone, path); return nil }
	for _, dry := range []bool{true, false} {
		if removed, err := Sweep(root, "x-", dry, undo); err != nil || !slices.Equal(removed, []string{at("x-left")}) {
			t.Errorf("dry %v: %q, %v", dry, removed, err)
		}
	}
	if !slices.Equal(undone, []string{at("x-left")}) {
		t.Errorf("undone: %q", undone)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	failed := func(string) error { return os.ErrPermission }
	if removed, err := Sweep(root, "x-", false, failed); err == nil || len(removed) > 0 {
		t.Errorf("what could not be undone: %q, %v", removed, err)
	}
	if _, err := os.Stat(at("x-held")); err != nil {
		t.Error(err)
	}
	if removed, err := Sweep(at("none"), "x-", false, nil); err != nil || removed != nil {
		t.Errorf("%q, %v", removed, err)
	}
}

// TestMakeWhileSwept: Make waits until a Sweep that took the directory for a leftover has removed it.
func TestMakeWhileSwept(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "x-new")
	if err := os.Mkdir(path, 0o700); err != nil { // made, and not locked yet
		t.Fatal(err)
	}
	swept := make(chan error, 1)
	undoing := make(chan struct{})
	go func() {
		_, err := Sweep(root, "x-", false, func(string) error {
			close(undoing)
			time.Sleep(300 * time.Millisecond)
			return nil
		})
		swept <- err
	}()
	<-undoing
	held, err := Make(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := <-swept; err != nil {
		t.Error(err)
	}
	if left, err := Sweep(root, "x-", true, nil); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(root, "file"), nil, 0o600), os.Symlink(root, filepath.Join(root, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"file", "link"} {
		if f, err := Make(filepath.Join(root, other)); err == nil {
			t.Errorf("a %s was taken for a directory", other)
			f.Close()
		}
	}
}

// TestRunLockedWhereItIsClosed: of a directory that cannot be opened nobody can say that no run lives in it.
func TestRunLockedWhereItIsClosed(t *testing.T) {
	top := t.TempDir()
	path := filepath.Join(top, "closed")
	if err := errors.Join(os.Mkdir(path, 0), os.Chmod(top, 0o755)); err != nil {
		t.Fatal(err)
	}
	dir, err := inode.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if os.Geteuid() == 0 { // without root's rights on files (setfsuid(2))
			const nobody = 65534
			if err := errors.Join(unix.Setfsgid(nobody), unix.Setfsuid(nobody)); err != nil {
				t.Error(err)
				return
			}
		}
		if !RunLocked(int(dir.Fd())) {
			t.Error("closed: it is not locked")
		}
	}()
	<-done
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if RunLocked(int(dir.Fd())) {
		t.Error("open, and without a lock: it is locked")
	}
}
