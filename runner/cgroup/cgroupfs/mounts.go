package cgroupfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mount is a cgroup mount: the group at its root, and the mount point.
type Mount struct{ Root, Point string }

// Dir returns a group's directory; for a group that the mount does not show, as in a container that sees only its own
// part, the mount point.
func (m Mount) Dir(group string) string {
	rel, err := filepath.Rel(m.Root, group)
	// cgroup_namespaces(7) shows a group outside the reader's namespace as "/../x".
	if err != nil || strings.HasPrefix(group, "/..") || rel == ".." || strings.HasPrefix(rel, "../") {
		return m.Point
	}
	return filepath.Join(m.Point, rel)
}

// Mounts by controller; the unified hierarchy is under "".
type Mounts map[string]Mount

// Has reports whether a controller is mounted.
func (m Mounts) Has(controller string) bool {
	_, ok := m[controller]
	return ok
}

// ReadMounts reads this process's proc_pid_mountinfo(5).
func ReadMounts(proc string) (Mounts, error) {
	raw, err := os.ReadFile(filepath.Join(proc, "self/mountinfo"))
	if err != nil {
		return nil, err
	}
	found := Mounts{}
	for line := range strings.Lines(string(raw)) {
		found.add(line)
	}
	return found, nil
}

// add skips a line that it does not understand, where moby/sys/mountinfo would read none: an odd mount elsewhere is no reason to
// refuse every run.
func (m Mounts) add(line string) {
	before, after, ok := strings.Cut(strings.TrimSpace(line), " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if !ok || len(left) < 5 || len(right) < 3 {
		return
	}
	here := Mount{Root: unescape(left[3]), Point: unescape(left[4])}
	switch right[0] {
	case "cgroup2":
		if !m.Has("") {
			m[""] = here
		}
	case "cgroup":
		for option := range strings.SplitSeq(right[2], ",") {
			if !m.Has(option) {
				m[option] = here
			}
		}
	}
}

// unescape undoes mountinfo's octal escapes.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

// GroupsOf reads a process's groups by controller (cgroups(7)); the process is a number or "self".
func GroupsOf(proc, process string) (map[string]string, error) {
	path := filepath.Join(proc, process, "cgroup")
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	own := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: unexpected line %q", path, line)
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			own[controller] = fields[2]
		}
	}
	return own, nil
}

// Ancestors lists dir and the mounted groups above it. Nothing above the mount point is a group.
func Ancestors(dir string) []string {
	var dirs []string
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
			return dirs
		}
		dirs = append(dirs, dir)
	}
}

// Within reports whether dir is root or below it.
func Within(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
