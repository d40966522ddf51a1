// Package regular opens regular files and nothing else. A FIFO or a device does not block, and only OpenTarget follows
// a last link. An error names the kind of file that was found.
package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrIrregular says that something is no regular file.
var ErrIrregular = errors.New("no regular file")

// Open opens a file for reading. The last name is no link; those before it may be.
func Open(path string) (*os.File, error) { return open(path, unix.O_NOFOLLOW, unix.Lstat) }

// OpenTarget is Open of what a path leads to: the last name may be a link, too.
func OpenTarget(path string) (*os.File, error) { return open(path, 0, unix.Stat) }

func open(path string, flags int, stat func(string, *unix.Stat_t) error) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|flags, 0)
	if err != nil {
		var st unix.Stat_t
		if stat(path, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFREG { // such as a link, which is ELOOP, or a socket, ENXIO
			err = irregular(path, st.Mode)
		}
		return nil, err
	}
	if err := Check(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Check returns an error if an open file is no regular one.
func Check(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return irregular(f.Name(), st.Mode)
	}
	return nil
}

func irregular(path string, mode uint32) error {
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is %s and %w", KindName(mode&unix.S_IFMT), ErrIrregular)}
}

// KindName names a kind of file, given as S_IFMT bits.
func KindName(kind uint32) string {
	switch kind {
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFREG:
		return "a file"
	case unix.S_IFSOCK:
		return "a unix socket"
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFLNK:
		return "a symbolic link"
	default:
		return "a device"
	}
}
