package outputs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// Reason says why an entry of the working directory is not an output.
type Reason string

// The reasons of the result's `rejected` list.
const (
	Symlink    Reason = "symlink"
	FIFO       Reason = "fifo"
	Socket     Reason = "socket"
	Device     Reason = "device"
	TooLarge   Reason = "too_large"
	TooMany    Reason = "too_many"
	TooDeep    Reason = "too_deep"
	Name       Reason = "name"
	Unreadable Reason = "unreadable"
	Changed    Reason = "changed"
	Hardlink   Reason = "hardlink"
	Excluded   Reason = "excluded"
)

// refusal is the verdict on one entry that is not taken. It is an error, so that all failures of an entry are returned one
// way; any other error ends the walk.
type refusal struct {
	reason Reason
	detail string
}

func (r *refusal) Error() string { return string(r.reason) + ": " + r.detail }

func refuse(reason Reason, format string, args ...any) error {
	return &refusal{reason, fmt.Sprintf(format, args...)}
}

// proven turns the error of a call that opens an entry of the directory dir into a verdict, if the entry itself shows
// the cause: one that an analysis can bring about. Every other error is one of the file system, and stays an error:
// what statx(2) does not show of an inode is no evidence against its file. st describes the entry; nil: it could not be
// looked at.
func proven(dir int, name string, st *unix.Stat_t, err error) error {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return err
	}
	switch errno {
	case unix.EACCES: // a mode, of the entry or of its directory
		if st == nil {
			if now, failed := lookAt(dir); failed == nil && !mayUse(now, 0o1) {
				return refuse(Unreadable, "its directory has the mode %04o (EACCES)", now.Mode&0o7777)
			}
			return err
		}
		if now, failed := lookSame(dir, name, st); failed == nil && !mayUse(now, rightToRead(now)) {
			return refuse(Unreadable, "it has the mode %04o (EACCES)", now.Mode&0o7777)
		}
	case unix.ENOKEY: // fscrypt: a process that adds a key may remove it (ioctl FS_IOC_REMOVE_ENCRYPTION_KEY)
		if st == nil {
			return err
		}
		if now, failed := lookSame(dir, name, st); failed == nil && now.Attributes&unix.STATX_ATTR_ENCRYPTED != 0 {
			return refuse(Unreadable, "it is encrypted, and its key was removed (ENOKEY)")
		}
	}
	return err
}

// lookSame describes an entry through a descriptor that gives no right to its contents and needs none, if it still is the
// inode of st.
func lookSame(dir int, name string, st *unix.Stat_t) (*unix.Statx_t, error) {
	fd, err := openSame(dir, name, st, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return lookAt(fd)
}

func lookAt(fd int) (*unix.Statx_t, error) {
	now := new(unix.Statx_t)
	return now, unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_BASIC_STATS, now)
}

// rightToRead is what reading takes of an entry.
func rightToRead(st *unix.Statx_t) uint16 {
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return 0o5
	}
	return 0o4
}

// mayUse reports whether the mode gives this process a right. The supervisor is root in its namespace, whom a mode stops only
// on a network file system, which judges by the owner's bits.
func mayUse(st *unix.Statx_t, right uint16) bool {
	bits := st.Mode
	if uid := os.Geteuid(); uid == 0 || uint32(uid) == st.Uid {
		bits >>= 6
	}
	return bits&right == right
}

// moved reports an error that occurs if others change the tree during the walk: the entry was moved or removed.
// Measuring or removing such a tree goes on.
func moved(err error) bool {
	var lost *lostError
	if errors.Is(err, errExchanged) || errors.As(err, &lost) {
		return true
	}
	for _, is := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EAGAIN, unix.ESTALE} { // ESTALE: NFS
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// special is the verdict on all but regular files and directories.
func special(dir int, name string, st *unix.Stat_t) error {
	switch kind(st) {
	case unix.S_IFLNK:
		target, err := beneath.Readlink(dir, name)
		if err != nil {
			return err
		}
		return &refusal{Symlink, "-> " + target}
	case unix.S_IFIFO:
		return &refusal{FIFO, ""}
	case unix.S_IFSOCK:
		return &refusal{Socket, ""}
	case unix.S_IFCHR:
		return refuse(Device, "character device %d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	case unix.S_IFBLK:
		return refuse(Device, "block device %d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	}
	return refuse(Device, "file type %o", kind(st)>>12)
}
