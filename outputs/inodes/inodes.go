// Package inodes distinguishes a file system without free inodes from one without free space, for which the kernel
// returns ENOSPC too, and explains the error to people.
package inodes

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// UsedUp reports whether the file system of path has no free inode. If path does not exist, that of the directory above counts.
func UsedUp(path string) bool {
	for {
		var st unix.Statfs_t
		switch err := unix.Statfs(path, &st); {
		case err == nil:
			return st.Files > 0 && st.Ffree == 0 // some, as btrfs, count none
		case errors.Is(err, unix.EINTR):
		case filepath.Dir(path) == path:
			return false
		default:
			path = filepath.Dir(path)
		}
	}
}

// Advice is what to do about it.
const Advice = "the file system has no free inodes (df -i): remove files, or choose another file system"

// usedUp is an error that was explained.
type usedUp struct{ err error }

func (e *usedUp) Error() string { return e.err.Error() + ": " + Advice }
func (e *usedUp) Unwrap() error { return e.err }

// Explain adds Advice, once, to the error of an operation on a path if missing inodes are the reason.
func Explain(err error) error {
	var explained *usedUp
	var at *fs.PathError
	if !errors.As(err, &explained) && errors.As(err, &at) && errors.Is(at.Err, unix.ENOSPC) && UsedUp(at.Path) {
		return &usedUp{err}
	}
	return err
}
