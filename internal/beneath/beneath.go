// Package beneath opens files in a directory and nowhere else, whatever names and links it holds. Renames and signals during a call
// do not fail it. Errors are bare errnos.
package beneath

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Open opens a name below the open directory dir, "" for dir itself: through no link, not even a last one (ELOOP), not
// upwards and not in another mount (EXDEV). See openat2(2).
func Open(dir int, name string, flags int) (int, error) { return OpenFile(dir, name, flags, 0) }

// Reopen opens the directory dir once more, to list it: it may be open by O_PATH only, and each open file has a position of its own.
func Reopen(dir int) (int, error) { return Open(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY) }

// OpenFile is Open with a mode, for O_CREAT only.
func OpenFile(dir int, name string, flags int, mode uint32) (int, error) {
	if name == "" {
		name = "."
	}
	return Openat2(dir, name, &unix.OpenHow{
		Flags: uint64(flags), // O_NOFOLLOW would give ENOTDIR for a link to a directory
		Mode:  uint64(mode),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS |
			unix.RESOLVE_NO_XDEV,
	})
}

// mostTries bounds the tries of an open, so that renaming in a loop cannot hold the caller.
const mostTries = 9

// Openat2 opens a name by the caller's own rules, and adds O_CLOEXEC.
func Openat2(dir int, name string, how *unix.OpenHow) (int, error) {
	how.Flags |= unix.O_CLOEXEC
	for try := 1; ; try++ {
		fd, err := unix.Openat2(dir, name, how)
		if err == unix.EINTR || err == unix.EAGAIN && try < mostTries { // EAGAIN: a rename or a mount during the call
			continue
		}
		return fd, err
	}
}

// Readlink is the target of a symbolic link in the open directory dir, or of dir itself, which is one, if the name is "".
func Readlink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	return string(buf[:max(n, 0)]), err
}

// ProcPath leads to what is open, whatever its name is now, for calls that take nothing but a path.
func ProcPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
