package mountfd

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// Mount attributes of binds.
const (
	ReadWrite = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	ReadOnly  = ReadWrite | unix.MOUNT_ATTR_RDONLY
)

// Open detaches a mount of path.
func Open(path string, attributes uint64) (*os.File, error) {
	source, err := inode.Open(path)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return Detach(source, attributes, 0)
}

// DetachReadOnly clones an open descriptor's mount, detached and read-only. Mounts below it are left out; where the
// kernel forbids to see under them, it fails.
func DetachReadOnly(source *os.File) (*os.File, error) { return Detach(source, ReadOnly, 0) }

// DetachReadWrite is DetachReadOnly, but writable.
func DetachReadWrite(source *os.File) (*os.File, error) { return Detach(source, ReadWrite, 0) }

// Detach clones the mount of source, from source downwards, private and with the attributes; with AT_RECURSIVE also the
// mounts below.
func Detach(source *os.File, attributes uint64, recursive uint) (*os.File, error) {
	fd, err := unix.OpenTree(int(source.Fd()), "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|recursive)
	if err != nil {
		return nil, fmt.Errorf("open_tree: %w", err)
	}
	mount := os.NewFile(uintptr(fd), source.Name())
	attr := unix.MountAttr{Attr_set: attributes, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|recursive, &attr); err != nil {
		return nil, errors.Join(fmt.Errorf("mount_setattr: %w", err), mount.Close())
	}
	return mount, nil
}

// Attach mounts a detached mount on target.
func Attach(mount *os.File, target string) error {
	if err := unix.MoveMount(int(mount.Fd()), "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

// Unmount detaches the mount on dir (MNT_DETACH, umount2(2)).
func Unmount(dir string) error {
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", dir, err)
	}
	return nil
}
