package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// Each source is opened once, checked on the descriptor and mounted from it, so that a path swapped meanwhile has no
// effect (open_tree(2), mount_setattr(2), move_mount(2)).

// bindAll mounts a job's host binds below root.
func (a area) bindAll(root string, job *Job, files []*os.File) (walls Walls, err error) {
	for _, b := range job.Tree.Binds {
		wall, err := a.bindTree(filepath.Join(root, b.Destination), b.Source)
		if err != nil {
			return walls, fmt.Errorf("bind %s: %w", b.Source, err)
		}
		walls.note(wall, b.Source)
	}
	for _, b := range job.Binds {
		wall, err := a.bindInput(root, b, job.Spec.Mounts, files)
		if err != nil {
			return walls, fmt.Errorf("bind %s: %w", b.Source, err)
		}
		walls.note(wall, b.Source)
		if b.Directory {
			walls.Sockets = walls.Sockets.and(wall)
		}
	}
	if err := bindWork(filepath.Join(root, "work"), job, files); err != nil {
		return walls, fmt.Errorf("bind %s: %w", job.WorkPath, err)
	}
	return walls, nil
}

// given returns the launcher's detached mount, file i, or nil.
func given(files []*os.File, i int) *os.File {
	if i == 0 || i >= len(files) {
		return nil
	}
	return files[i]
}

// bindTree mounts a part of the root filesystem. A part with mounts below it cannot be an overlay: that would show what
// they hide, which a user namespace may not see (EINVAL; mount_namespaces(7), locked mounts).
func (a area) bindTree(target, path string) (SocketWall, error) {
	source, err := inode.Open(path)
	if err != nil {
		return "", err
	}
	defer source.Close()
	mount, err := detach(source, readOnly, 0)
	if err == nil {
		defer mount.Close()
		return a.bindDirectory(target, mount)
	}
	if !errors.Is(err, unix.EINVAL) {
		return "", err
	}
	if mount, err = detach(source, readOnly, unix.AT_RECURSIVE); err != nil {
		return "", err
	}
	defer mount.Close()
	return WallScan, attach(mount, target)
}

// bindInput mounts one of the run's read-only binds below root.
func (a area) bindInput(root string, b Bind, own []specs.Mount, files []*os.File) (SocketWall, error) {
	target := filepath.Join(root, b.Destination)
	if err := pointIn(root, b, own); err != nil {
		return "", err
	}
	mount, err := givenOr(files, b.Mount, b.Source)
	if err != nil {
		return "", err
	}
	defer mount.Close()
	if err := check(mount, b.Dev, b.Ino); err != nil {
		return "", err
	}
	if b.Directory {
		return a.bindDirectory(target, mount)
	}
	return a.bindFile(target, b, mount, files)
}

// pointIn makes the mount point of a bind inside one of the container's tmpfs, such as a runtime below /tmp: the tmpfs
// hides the one made in the root.
func pointIn(root string, b Bind, own []specs.Mount) error {
	for _, m := range own {
		if below, is := strings.CutPrefix(b.Destination, m.Destination+"/"); is && m.Type == "tmpfs" {
			return rootfs.MountPoint(filepath.Join(root, m.Destination), "/"+below, b.Directory)
		}
	}
	return nil
}

// givenOr returns the detached mount that the launcher sent as file i, or makes one of path.
func givenOr(files []*os.File, i int, path string) (*os.File, error) {
	if mount := given(files, i); mount != nil {
		return mount, nil
	}
	return open(path, readOnly)
}

func bindWork(target string, job *Job, files []*os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(files[0].Fd()), &st); err != nil {
		return err
	}
	mount := given(files, job.WorkMount)
	if mount == nil {
		var err error
		if mount, err = open(job.WorkPath, readWrite); err != nil {
			return err
		}
		defer mount.Close()
	}
	if err := check(mount, st.Dev, st.Ino); err != nil {
		return err
	}
	return attach(mount, target)
}

// Mount attributes of binds.
const (
	readWrite = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readOnly  = readWrite | unix.MOUNT_ATTR_RDONLY
)

var errSwapped = errors.New("it is no longer the file that was checked at the start")

// check verifies that a mount shows a given inode.
func check(mount *os.File, dev, ino uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(mount.Fd()), &st); err != nil {
		return err
	}
	if st.Dev != dev || st.Ino != ino {
		return errSwapped
	}
	return nil
}

// open detaches a mount of path.
func open(path string, attributes uint64) (*os.File, error) {
	source, err := inode.Open(path)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return detach(source, attributes, 0)
}

// DetachReadOnly clones an open descriptor's mount, detached and read-only. Mounts below it are left out; where the
// kernel forbids to see under them, it fails.
func DetachReadOnly(source *os.File) (*os.File, error) { return detach(source, readOnly, 0) }

// DetachReadWrite is DetachReadOnly, but writable.
func DetachReadWrite(source *os.File) (*os.File, error) { return detach(source, readWrite, 0) }

// detach clones the mount of source, from source downwards, private and with the attributes; with AT_RECURSIVE also the
// mounts below.
func detach(source *os.File, attributes uint64, recursive uint) (*os.File, error) {
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

// attach mounts a detached mount on target.
func attach(mount *os.File, target string) error {
	if err := unix.MoveMount(int(mount.Fd()), "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}
