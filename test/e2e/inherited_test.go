package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestInheritedDescriptors: what the launcher has inherited without close-on-exec does not reach its supervisor.
func TestInheritedDescriptors(t *testing.T) {
	h := newHarness(t)
	secret := h.write("open/secret", "secret", 0o600)
	flag := h.flag()
	id := h.newID()
	cmd := h.command(theHost.bin, runWith(id, flags("--input", flag.input(), "--", "sh", "-c", "echo ready >&2; "+awaited))...)
	cmd.ExtraFiles = make([]*os.File, 18) // from 3 on; nil is closed
	for fd, path := range map[int]string{9: secret, 20: filepath.Dir(secret)} {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		cmd.ExtraFiles[fd-3] = file
	}
	l := h.follow(id, cmd)
	l.await("ready")
	if got := openBelow(t, l.cmd.Process.Pid, filepath.Dir(secret)); len(got) != 2 {
		t.Errorf("control: of both the launcher has %q", got)
	}
	if got := openBelow(t, l.supervisor().pid, filepath.Dir(secret)); len(got) > 0 {
		t.Errorf("the supervisor has %q", got)
	}
	flag.raise()
	l.wait().expect(t, "complete", "exit", 0)
}

// openBelow are the descriptors of a process that are open on a directory or what is in it.
func openBelow(t *testing.T, pid int, dir string) (found []string) {
	t.Helper()
	fds := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(fds)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%v, %d descriptors in %s", err, len(entries), fds)
	}
	for _, entry := range entries {
		if path, err := os.Readlink(filepath.Join(fds, entry.Name())); err == nil && strings.HasPrefix(path, dir) {
			found = append(found, entry.Name()+" "+path)
		}
	}
	return found
}
