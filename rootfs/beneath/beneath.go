// Package beneath opens files in a directory and nowhere else, whatever names and links it holds.
package beneath

import "golang.org/x/sys/unix"

// Open opens a name below the open directory dir, "" for dir itself: through no link, not even a last one (ELOOP), not
// upwards and not in another mount (EXDEV). See openat2(2). The error is a bare errno.
func Open(dir int, name string, flags uint64) (int, error) {
	if name == "" {
		name = "."
	}
	how := unix.OpenHow{
		Flags: flags | unix.O_CLOEXEC, // O_NOFOLLOW would give ENOTDIR for a link to a directory
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS |
			unix.RESOLVE_NO_XDEV,
	}
	// EAGAIN: a rename during the call.
	for try := 0; ; try++ {
		fd, err := unix.Openat2(dir, name, &how)
		if err == unix.EINTR || err == unix.EAGAIN && try < 8 {
			continue
		}
		return fd, err
	}
}
