package forks

import (
	"fmt"
	"os"
)

// namespaceOf names a namespace of a process, as proc_pid_ns(5) does.
func namespaceOf(pid int, kind string) (string, error) {
	return os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
}
