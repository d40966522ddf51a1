package userdir

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nogroup is the group of a user whom the host does not know: no file is given to it.
const nogroup = 65534

// owner is another user who may change a directory, with whose rights root works there.
type owner struct {
	uid, gid int
	groups   []int
}

// ownerOf is the owner of a directory or link, and nil for root's, for a caller who is not root, and for an owner whom this user
// namespace has no id for: there root has no rights that others lack.
func ownerOf(st *unix.Stat_t) (*owner, error) {
	if os.Geteuid() != 0 || st.Uid == 0 {
		return nil, nil // the caller's own rights
	}
	known, err := mapped(st.Uid)
	if err != nil || !known {
		return nil, err
	}
	o := &owner{uid: int(st.Uid), gid: nogroup}
	var unknown user.UnknownUserIdError
	u, err := user.LookupId(strconv.Itoa(o.uid))
	if errors.As(err, &unknown) || errors.Is(err, fs.ErrNotExist) { // of this host, or of a root without /etc/passwd
		return o, nil
	}
	if err != nil {
		return nil, err
	}
	if o.gid, err = strconv.Atoi(u.Gid); err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		gid, err := strconv.Atoi(id)
		if err != nil {
			return nil, err
		}
		o.groups = append(o.groups, gid)
	}
	return o, nil
}

// mapped reports whether a uid has a meaning in this user namespace (user_namespaces(7)).
func mapped(uid uint32) (bool, error) {
	f, err := os.Open("/proc/self/uid_map")
	if err != nil {
		return false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var inside, outside, count uint64
		if _, err := fmt.Sscan(lines.Text(), &inside, &outside, &count); err != nil {
			return false, fmt.Errorf("/proc/self/uid_map: %w", err)
		}
		if uint64(uid) >= inside && uint64(uid) < inside+count {
			return true, nil
		}
	}
	return false, lines.Err()
}

// do calls work with the owner's file system ids, which are those of one thread (setfsuid(2)); capabilities over files go with them.
// Within another do they are those of the inner one, and then of the outer one again.
func (o *owner) do(work func() error) (err error) {
	if o == nil {
		return work()
	}
	runtime.LockOSThread()
	before, err := current()
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() {
		if back := before.become(); back != nil {
			panic(fmt.Sprintf("a thread could not get its ids back: %v", back)) // no other work may run on it
		}
		runtime.UnlockOSThread()
	}()
	if err := o.become(); err != nil {
		return fmt.Errorf("root cannot act as its owner, uid %d: %w", o.uid, err)
	}
	return work()
}

// current are the file system ids of this thread.
func current() (*owner, error) {
	groups, err := unix.Getgroups()
	uid, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, ^uintptr(0), 0, 0) // an invalid id changes nothing
	gid, _, _ := unix.RawSyscall(unix.SYS_SETFSGID, ^uintptr(0), 0, 0)
	return &owner{int(uid), int(gid), groups}, err
}

// become sets the ids of this thread.
func (o *owner) become() error {
	if err := setGroups(o.groups); err != nil {
		return err
	}
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSGID, uintptr(o.gid), 0, 0) // neither call reports an error
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, uintptr(o.uid), 0, 0)
	if now, err := current(); err != nil || now.uid != o.uid || now.gid != o.gid {
		return errors.Join(err, unix.EPERM)
	}
	return nil
}

// setGroups sets the supplementary groups of this thread; Go's Setgroups would set those of all threads.
func setGroups(groups []int) error {
	ids := make([]uint32, len(groups)+1) // one more, so that there is an address
	for i, id := range groups {
		ids[i] = uint32(id) //nolint:gosec // groups have 32 bits
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&ids[0])), 0); errno != 0 {
		return errno
	}
	return nil
}

// explain names the user whose rights were not enough.
func (o *owner) explain(err error) error {
	if o == nil || err == nil || !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "uid ") {
		return err
	}
	return fmt.Errorf("%w for uid %d, who owns a directory of this path, and with whose rights root works there", err, o.uid)
}

// CannotMake is the error of making what the user wants at a path, as "file", with the way out.
func CannotMake(what, path string, err error) error {
	return fmt.Errorf("%q cannot be made: %w; name a %s in a directory that you can write to", path, Plain(err), what)
}

// NoParent is CannotMake with an error of Parent.
func NoParent(what, path string, err error) error {
	var failed *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%q cannot be made: the directory %q does not exist; make it first, or name another %s", path, filepath.Dir(path), what)
	case errors.As(err, &failed):
		return CannotMake(what, path, err)
	}
	return err // it says itself what to do
}

// Plain is an error of the file system without the path, for a message that has it.
func Plain(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
