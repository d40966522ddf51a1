// Package landlock asks which version of Landlock the kernel has (landlock(7)). Our init restricts analyses by it
// (runner/sandbox/runc/container/initc/src/landlock.c).
package landlock

import "golang.org/x/sys/unix"

// The versions that init uses. With version 1 no file can be renamed or linked into another directory.
const (
	Oldest = 2
	Newest = 7
)

// Version is the version of Landlock that restricts analyses; 0 if the kernel has none that is used.
func Version() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || version < Oldest {
		return 0
	}
	return min(int(version), Newest)
}
