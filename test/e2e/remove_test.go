package e2e

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRemoveIsHindered: where a kept directory cannot be removed, rm says which, keeps the record, and removes both
// when it can.
func TestRemoveIsHindered(t *testing.T) {
	h := newHarness(t)
	base := h.path("base")
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	h.setenv("SCIDEX_OCI_TMP", base)
	id := h.newID()
	h.start("--id", id, "--keep", "always", "--", "mkdir", "sub").expect(t, "complete", "exit", 0)
	kept := filepath.Join(base, "scidex-analysis-"+id)
	free := hinder(t, base, filepath.Join(kept, "sub"))
	h.mustRefuse([]string{"rm", id}, kept, "is still there", "run rm again")
	if _, err := os.Lstat(kept); err != nil {
		t.Errorf("control: %v", err)
	}
	h.show(id).expect(t, "complete", "exit", 0)
	free()
	h.mustRun("rm", id)
	if _, err := os.Lstat(kept); !os.IsNotExist(err) {
		t.Errorf("%s: %v, want it gone", kept, err)
	}
}

// hinder keeps the directory below base from being removed, until free or the test's end: by a mount, or, for who
// cannot mount, by base's mode.
func hinder(t *testing.T, base, dir string) (free func()) {
	t.Helper()
	set, unset := func() error { return os.Chmod(base, 0o555) }, func() error { return os.Chmod(base, 0o755) }
	if theHost.root {
		set, unset = func() error { return unix.Mount("tmpfs", dir, "tmpfs", 0, "") }, func() error { return unix.Unmount(dir, 0) }
	}
	if err := set(); err != nil {
		t.Fatal(err)
	}
	free = sync.OnceFunc(func() {
		if err := unset(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(free)
	return free
}
