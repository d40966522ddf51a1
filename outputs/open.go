package outputs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// quiet are the open flags that neither follow a link, nor block on a FIFO, nor take a terminal.
const quiet = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// fileID names an inode for as long as something refers to it.
type fileID struct{ dev, ino uint64 }

func identity(st *unix.Stat_t) fileID { return fileID{st.Dev, st.Ino} }

func kind(st *unix.Stat_t) uint32 { return st.Mode & unix.S_IFMT }

// errExchanged says that a name is not that of the inode it was.
var errExchanged = errors.New("it was exchanged by another process")

// openSame opens name in dir and returns it only if it is the inode that st describes. A name that was exchanged between
// lstat and open is errExchanged.
func openSame(dir int, name string, st *unix.Stat_t, flags int) (int, error) {
	extra := quiet
	if flags&unix.O_PATH != 0 { // takes no other flags than these
		extra = unix.O_NOFOLLOW | unix.O_CLOEXEC
	}
	fd, err := beneath.Open(dir, name, flags|extra)
	if err != nil {
		return -1, err
	}
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if identity(&now) != identity(st) || kind(&now) != kind(st) {
		unix.Close(fd)
		return -1, errExchanged
	}
	return fd, nil
}

func lstatAt(dir int, name string) (*unix.Stat_t, error) {
	st := new(unix.Stat_t)
	if err := unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	return st, nil
}

// chmodSame sets the permission bits of the inode that st describes, never those of a symlink's target. It goes through
// an O_PATH descriptor, which needs no right on the file itself, and /proc, because the oldest supported kernels lack
// fchmodat2(2).
func chmodSame(dir int, name string, st *unix.Stat_t, mode uint32) error {
	if kind(st) == unix.S_IFLNK {
		return nil
	}
	fd, err := openSame(dir, name, st, unix.O_PATH)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return unix.Chmod(beneath.ProcPath(fd), mode)
}
