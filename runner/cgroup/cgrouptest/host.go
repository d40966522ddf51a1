// Package cgrouptest lays out /proc and the files of a control group file system in a temporary directory. That is enough
// to test code that only reads and writes such files.
package cgrouptest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Host is a temporary directory with /proc and control groups.
type Host struct {
	Dir    string
	t      *testing.T
	mounts []string // lines of mountinfo
}

// NewHost makes a Host without files.
func NewHost(t *testing.T) *Host { return &Host{Dir: t.TempDir(), t: t} }

// Write writes a file and returns its path.
func (h *Host) Write(path, text string) string {
	h.t.Helper()
	full := filepath.Join(h.Dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return full
}

// Files writes files of the group dir by name, and an empty cgroup.procs if the group has none.
func (h *Host) Files(dir string, text map[string]string) {
	h.t.Helper()
	for name, value := range text {
		h.Write(filepath.Join(dir, name), value+"\n")
	}
	if _, err := os.Stat(filepath.Join(h.Dir, dir, "cgroup.procs")); err != nil {
		h.Write(filepath.Join(dir, "cgroup.procs"), "")
	}
}

// Mount adds a mount for Self.
func (h *Host) Mount(root, point, kind, options string) {
	h.mounts = append(h.mounts, fmt.Sprintf("30 24 0:26 %s %s rw,nosuid - %s cgroup %s", root, filepath.Join(h.Dir, point), kind, options))
}

// Self writes /proc/self for a process in the given groups ("4:memory:/a"), and returns /proc.
func (h *Host) Self(groups ...string) (proc string) {
	h.Write("proc/self/mountinfo", strings.Join(h.mounts, "\n")+"\n")
	h.Write("proc/self/cgroup", strings.Join(groups, "\n")+"\n")
	return filepath.Join(h.Dir, "proc")
}
