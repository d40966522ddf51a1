package proof

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// checkMappings refuses shared memory: through it the process and its template, or two processes of one template, could speak. So
// they could through a file, whose content a private mapping shows until it is written to. Files of read-only mounts are no memory.
//
// Known are mappings that were checked before, as the kernel has them.
func checkMappings(pid, template int, known map[string]bool) error {
	raw, err := os.ReadFile(path(pid, "maps"))
	if err != nil {
		return err
	}
	var errs []error
	fixed := map[string]bool{} // by name
	for line := range bytes.Lines(raw) {
		if known[string(line)] { // no copy is made
			continue
		}
		m, err := parseMapping(string(line))
		if _, known := fixed[m.name]; !known && m.file() {
			fixed[m.name] = readOnly(filepath.Join(path(template, "root"), m.name))
		}
		if err == nil && !m.own(fixed[m.name]) {
			err = fmt.Errorf("it shares memory: %s", bytes.TrimSpace(line))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// readMappings are the mappings of a process.
func readMappings(pid int) (map[string]bool, error) {
	raw, err := os.ReadFile(path(pid, "maps"))
	mappings := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		mappings[line] = true
	}
	return mappings, err
}

// mapping is one of proc_pid_maps(5).
type mapping struct{ permissions, name string }

// parseMapping reads address, permissions, offset, device, inode, and perhaps a name.
func parseMapping(line string) (mapping, error) {
	fields := strings.Fields(line)
	if len(fields) < 5 || len(fields[1]) != 4 {
		return mapping{}, fmt.Errorf("a mapping reads %q", line)
	}
	name, rest := "", strings.TrimSuffix(line, "\n")
	if len(fields) > 5 {
		name = rest[strings.Index(rest, " "+fields[5])+1:]
	}
	return mapping{fields[1], name}, nil
}

// file reports whether a mapping is one of a file.
func (m mapping) file() bool { return strings.HasPrefix(m.name, "/") }

// own reports whether nobody else may write to what the process sees there. fixed says that the file is one of a read-only mount.
func (m mapping) own(fixed bool) bool {
	switch shared := strings.HasSuffix(m.permissions, "s"); {
	case m.file():
		return fixed && (!shared || m.permissions[1] == '-')
	default:
		return !shared
	}
}

// readOnly reports whether a file cannot be written to.
func readOnly(file string) bool {
	var st unix.Statfs_t
	return unix.Statfs(file, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}
