package runner

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openPath opens a file to be bound or looked at, not to be read (O_PATH).
func openPath(name string) (*os.File, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// procPath leads to an open file, whatever has its name by now.
func procPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// openBeneath opens a name below dir: never through a link, nor in another mount (openat2(2)). EAGAIN
// means that something was renamed during the call. The error is a bare errno.
func openBeneath(dir int, name string, flags uint64) (int, error) {
	how := unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(dir, name, &how)
		if err == unix.EINTR || err == unix.EAGAIN && try < 8 {
			continue
		}
		return fd, err
	}
}

// statAt is statx(2) of name in dir, or of dir itself where name is empty. The error is a bare errno.
func statAt(dir int, name string) (*unix.Statx_t, error) {
	const mask = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	var st unix.Statx_t
	err := unix.Statx(dir, name, flags, mask, &st)
	if err == nil && st.Mask&unix.STATX_MNT_ID == 0 {
		err = unix.ENOSYS // before Linux 5.8, where nothing of this runs
	}
	return &st, err
}

// fileID names an inode for as long as something refers to it.
type fileID struct{ dev, ino uint64 }

func identityOf(st *unix.Statx_t) fileID {
	return fileID{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
}

// plain drops the path from an error whose message names it already.
func plain(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		if errors.Is(pathError.Err, unix.ENOENT) {
			return errors.New("does not exist")
		}
		return pathError.Err
	}
	return err
}

func kindName(mode uint32) string {
	switch mode {
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
