package outputs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
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

// asRefusal turns an errno about one entry into its verdict. Errors of this process or the machine stay errors.
func asRefusal(err error) error {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return err
	}
	switch errno {
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOSYS, unix.EBADF:
		return err
	case unix.EIO, unix.EUCLEAN, unix.EBADMSG: // of a device, or damage found by ext4, XFS or btrfs
		return err
	case unix.EAGAIN: // also from a foreign lease (fcntl(2), F_SETLEASE)
		return refuse(Changed, "exchanged, removed or held by another process during the harvest (EAGAIN)")
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ESTALE:
		return refuse(Changed, "exchanged or removed during the harvest (%s)", unix.ErrnoName(errno))
	case unix.EXDEV:
		return refuse(Unreadable, "another file system is mounted here (EXDEV)")
	}
	return refuse(Unreadable, "%s (%s)", errno.Error(), unix.ErrnoName(errno))
}

// special is the verdict on all but regular files and directories.
func special(dir int, name string, st *unix.Stat_t) error {
	switch kind(st) {
	case unix.S_IFLNK:
		target, err := readlinkAt(dir, name)
		if err != nil {
			return asRefusal(err)
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
