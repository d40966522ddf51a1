package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSocketWall: directories are shown through an overlay, and the result says so; it says nothing if no directory is
// bound.
func TestSocketWall(t *testing.T) {
	h := newHarness(t)
	h.write("data/x", "", 0o644)
	for wall, flags := range map[string][]string{
		"overlay": {"--data", "data"},
		"":        {"--data", "none", "--input", "data/x"},
	} {
		r := h.start(append(append([]string{"--id", h.newID()}, flags...), "--", "true")...)
		if r.Sandbox.SocketWall != wall {
			t.Errorf("%q: socket_wall %q, want %q", flags, r.Sandbox.SocketWall, wall)
		}
	}
}

// TestWithoutOverlay binds a directory on two stacked overlays, which is as many as the kernel allows
// (FILESYSTEM_MAX_STACK_DEPTH): it is bound read-only without one, and the result says so.
func TestWithoutOverlay(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can stack overlays; the tests as root do")
		return
	}
	h := newHarness(t)
	h.write("layer/x", "content", 0o666)
	data := filepath.Join(h.dir, "layer")
	for _, name := range []string{"one", "two"} {
		target, empty := h.path(name), h.path("empty-"+name)
		for _, dir := range []string{target, empty} {
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Mount("overlay", target, "overlay", 0, "lowerdir="+empty+":"+data); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(target, 0); err != nil {
				t.Error(err)
			}
		})
		data = target
	}
	r := h.start("--id", h.newID(), "--data", data, "--", "sh", "-c", "cat /data/x; echo spoiled >/data/x")
	r.expect(t, "failed", "exit", 2)
	if r.Sandbox.SocketWall != "scan" {
		t.Errorf("socket_wall %q, want scan", r.Sandbox.SocketWall)
	}
	if got := h.stdoutOf(r); got != "content" {
		t.Errorf("it read %q", got)
	}
	if got := h.stderrOf(r); !strings.Contains(got, "Read-only") {
		t.Errorf("it was told %q", got)
	}
}

// bare is the warning that names what is shown without an overlay.
func (r result) bare() string {
	for _, w := range r.Warnings {
		if strings.Contains(w, "not through an overlay") {
			return w
		}
	}
	return ""
}

// TestFilesInClosedDirectories binds a single file from directories that only the caller can search. Root's
// supervisor cannot search the file's own: then the file is shown as it is, and the result says so.
func TestFilesInClosedDirectories(t *testing.T) {
	h := newHarness(t)
	for name, closed := range map[string]string{"above/open/file": "above", "closed/file": "closed"} {
		path := h.write(name, "content", 0o644)
		open(t, filepath.Dir(path))
		if err := os.Chmod(h.path(closed), 0o700); err != nil {
			t.Fatal(err)
		}
		r := h.start("--id", h.newID(), "--data", "none", "--input", name, "--", "cat", "/inputs/file")
		r.expect(t, "complete", "exit", 0)
		if got := h.stdoutOf(r); got != "content" {
			t.Errorf("%s: it read %q", name, got)
		}
		if want := theHost.root && closed == "closed"; strings.Contains(r.bare(), name) != want {
			t.Errorf("%s: it warns with %q, to be expected: %v", name, r.bare(), want)
		}
	}
}

// TestMountsBelowTheRoot mounts something below /usr, as hosts with several disks do: it is still seen, and the
// result says that /usr is shown as it is.
func TestMountsBelowTheRoot(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can mount below /usr; the tests as root do")
		return
	}
	h := newHarness(t)
	h.write("program", "content", 0o755)
	r := h.resultOf(h.command("unshare", "--mount", "sh", "-c", `mount --bind "$1" /usr/local && shift && exec "$@"`, "sh", h.dir,
		theHost.bin, "run", "--json", "--id", h.newID(), "--data", "none", "--", "cat", "/usr/local/program"))
	r.expect(t, "complete", "exit", 0)
	if got := h.stdoutOf(r); got != "content" {
		t.Errorf("it read %q", got)
	}
	if !strings.Contains(r.bare(), "/usr") {
		t.Errorf("it warns with %q, not that /usr is shown as it is", r.bare())
	}
}
