package proof

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// checkMappings refuses shared memory: through it the process and its template, or two processes of one template, could speak. A
// file of a read-only mount, such as the C library's list of character sets, is no memory.
func checkMappings(pid, template int) error {
	raw, err := os.ReadFile(path(pid, "maps"))
	if err != nil {
		return err
	}
	var errs []error
	for line := range strings.Lines(string(raw)) {
		permissions, name, err := parseMapping(line)
		if err == nil && strings.HasSuffix(permissions, "s") && !readOnly(permissions, filepath.Join(path(template, "root"), name)) {
			err = fmt.Errorf("it shares memory: %s", strings.TrimSpace(line))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// parseMapping reads a line of proc_pid_maps(5): address, permissions, offset, device, inode, and perhaps a name.
func parseMapping(line string) (permissions, name string, err error) {
	fields := strings.Fields(line)
	if len(fields) < 5 || len(fields[1]) != 4 {
		return "", "", fmt.Errorf("a mapping reads %q", line)
	}
	return fields[1], strings.Join(fields[5:], " "), nil
}

// readOnly reports whether a mapping cannot be written to, nor made so.
func readOnly(permissions, file string) bool {
	var st unix.Statfs_t
	return permissions[1] == '-' && unix.Statfs(file, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}
