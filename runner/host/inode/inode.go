// Package inode opens files that others may move, replace or mount over meanwhile, and identifies them by inode, not by
// name.
package inode

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// Open opens a file to bind or stat, not to read (O_PATH).
func Open(name string) (*os.File, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// ProcPath leads to an open file, whatever its name is now.
func ProcPath(f *os.File) string { return beneath.ProcPath(int(f.Fd())) }

// Stat is statx(2) of name in dir, or of dir itself if name is empty. The error is a bare errno.
func Stat(dir int, name string) (*unix.Statx_t, error) {
	const mask = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	var st unix.Statx_t
	err := unix.Statx(dir, name, flags, mask, &st)
	if err == nil && st.Mask&unix.STATX_MNT_ID == 0 {
		err = unix.ENOSYS // before Linux 5.8, which is unsupported
	}
	return &st, err
}

// ID identifies an inode while something refers to it.
type ID struct{ Dev, Ino uint64 }

// Of returns a statx result's inode.
func Of(st *unix.Statx_t) ID {
	return ID{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
}

// Timely reports whether a file system sets change times itself, by this kernel's clock, on every change. Network file
// systems and FUSE have other clocks, and caches; an overlay can be changed from below.
func Timely(system *unix.Statfs_t) bool {
	switch system.Type {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}

// FileSystem is a file system's id: device numbers are reused.
func FileSystem(system *unix.Statfs_t) uint64 {
	return uint64(uint32(system.Fsid.Val[0]))<<32 | uint64(uint32(system.Fsid.Val[1]))
}

// Plain drops the path from an error whose message contains it.
func Plain(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		if errors.Is(pathError.Err, unix.ENOENT) {
			return errors.New("does not exist")
		}
		return pathError.Err
	}
	return err
}

// Rights are the permission bits that an id with these groups has, as those of others.
func Rights(st *unix.Stat_t, uid int, gids []int) uint32 {
	switch {
	case int(st.Uid) == uid:
		return st.Mode >> 6 & 0o7
	case slices.Contains(gids, int(st.Gid)):
		return st.Mode >> 3 & 0o7
	}
	return st.Mode & 0o7
}
