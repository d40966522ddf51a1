package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRemoveIsHindered: if a kept directory cannot be removed, rm names it, keeps the record, and removes both when it
// can.
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

// TestRemoveOnAnotherDevice: rm removes no directory that it cannot identify, and reports it.
func TestRemoveOnAnotherDevice(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can mount a file system; the tests as root do")
		return
	}
	h := newHarness(t)
	base := h.path("base")
	mount := func() error { return unix.Mount("tmpfs", base, "tmpfs", 0, "") }
	if err := errors.Join(os.Mkdir(base, 0o755), mount()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(base, unix.MNT_DETACH) })
	h.setenv("SCIDEX_OCI_TMP", base)
	id, other := h.newID(), h.newID()
	for _, one := range []string{id, other} {
		h.start("--id", one, "--keep", "always", "--", "true").expect(t, "complete", "exit", 0)
	}
	kept := filepath.Join(base, "scidex-analysis-"+id)
	if err := errors.Join(mount(), os.MkdirAll(kept, 0o700)); err != nil { // above the first one
		t.Fatal(err)
	}
	out := h.mustRun("rm", id)
	if err := unix.Unmount(base, 0); err != nil {
		t.Fatal(err)
	}
	if !exists(kept) || !strings.Contains(out.stderr, kept) || !strings.Contains(out.stderr, "on another device") {
		t.Errorf("left: %v; said: %s", exists(kept), out.stderr)
	}
	if out := h.mustRun("rm", other); out.stderr != "" {
		t.Errorf("rm of a run whose directory is where it was: %s", out.stderr)
	}
}

// hinder keeps the directory below base from being removed, until free or the test's end: by a mount, or, for a user
// who cannot mount, by base's mode.
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
