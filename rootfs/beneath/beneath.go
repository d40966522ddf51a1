// Package beneath opens what lies in a directory and nothing else, whatever names and links there are.
package beneath

import "golang.org/x/sys/unix"

// Open opens a name below the open directory dir, "" for dir itself: through no link, the last part of the
// name included (ELOOP), not upwards and not in another mount (EXDEV). See openat2(2). The error is a bare
// errno.
func Open(dir int, name string, flags uint64) (int, error) {
	if name == "" {
		name = "."
	}
	how := unix.OpenHow{
		Flags: flags | unix.O_CLOEXEC, // with O_NOFOLLOW a link would be ENOTDIR for a directory
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS |
			unix.RESOLVE_NO_XDEV,
	}
	// EAGAIN: something was renamed during the call.
	for try := 0; ; try++ {
		fd, err := unix.Openat2(dir, name, &how)
		if err == unix.EINTR || err == unix.EAGAIN && try < 8 {
			continue
		}
		return fd, err
	}
}
