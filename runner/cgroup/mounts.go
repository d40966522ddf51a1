package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mount is a cgroup mount: the group at its root, and the mount point.
type mount struct{ root, point string }

// dir returns a group's directory; for a group that the mount does not show, as in a container that sees only its own
// part, the mount point.
func (m mount) dir(group string) string {
	rel, err := filepath.Rel(m.root, group)
	// cgroup_namespaces(7) shows a group outside the reader's namespace as "/../x".
	if err != nil || strings.HasPrefix(group, "/..") || rel == ".." || strings.HasPrefix(rel, "../") {
		return m.point
	}
	return filepath.Join(m.point, rel)
}

// mounts by controller; the unified hierarchy is under "".
type mounts map[string]mount

func (m mounts) has(controller string) bool {
	_, ok := m[controller]
	return ok
}

// readMounts reads proc_pid_mountinfo(5).
func readMounts(path string) (mounts, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	found := mounts{}
	for line := range strings.Lines(string(raw)) {
		found.add(line)
	}
	return found, nil
}

func (m mounts) add(line string) {
	before, after, ok := strings.Cut(strings.TrimSpace(line), " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if !ok || len(left) < 5 || len(right) < 3 {
		return
	}
	here := mount{root: unescape(left[3]), point: unescape(left[4])}
	switch right[0] {
	case "cgroup2":
		if !m.has("") {
			m[""] = here
		}
	case "cgroup":
		for option := range strings.SplitSeq(right[2], ",") {
			if !m.has(option) {
				m[option] = here
			}
		}
	}
}

// unescape undoes mountinfo's octal escapes.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

// readOwn reads /proc/pid/cgroup (cgroups(7)): the process's group by controller.
func readOwn(path string) (map[string]string, error) {
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
