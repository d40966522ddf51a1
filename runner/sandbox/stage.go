package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/container/initc"
)

// The staging area is a tmpfs that only the supervisor's mount namespace has. It hides a directory that
// exists everywhere and in which no user has files; nothing here needs what is below it.
const (
	stageDir = "/sys/kernel"
	stateDir = stageDir + "/state" // libcontainer's
	// InitPath is our PID 1, bound into every container.
	InitPath = stageDir + "/init"
)

func mountStage() error {
	if err := mountTmpfs(stageDir); err != nil {
		return err
	}
	program, err := initc.Program()
	if err != nil {
		return err
	}
	if err := os.Mkdir(stateDir, 0o711); err != nil {
		return err
	}
	if err := os.WriteFile(InitPath, program, 0o555); err != nil {
		return err
	}
	return os.Chmod(InitPath, 0o555) // the umask took the others' bits
}

func mountTmpfs(dir string) error {
	return unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755")
}

// stage builds the root filesystem of a job with everything the host binds into it, and leaves in the
// OCI specification what is libcontainer's: the mounts of the container's own namespaces.
// Files that are bound are opened once, checked on the descriptor and mounted from it, so that a path
// swapped in between wins nothing.
func stage(job *Job, files []*os.File) error {
	root := rootOf(job)
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	if err := mountTmpfs(root); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	if err := populate(root, job); err != nil {
		return err
	}
	if err := bindAll(root, job, files); err != nil {
		return err
	}
	job.Spec.Root.Path = root
	job.Spec.Mounts = ownMounts(job.Spec.Mounts)
	return nil
}

func rootOf(job *Job) string { return filepath.Join(stageDir, "run-"+job.ID) }

// unstage drops the root filesystem of a container that has ended with all that is bound into it.
func unstage(job *Job) error {
	if err := unix.Unmount(rootOf(job), unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the root filesystem: %w", err)
	}
	return os.Remove(rootOf(job))
}

func populate(root string, job *Job) error {
	// What is made here is for the analysis to read: not with the supervisor's umask.
	old := unix.Umask(0o022)
	defer unix.Umask(old)
	if err := job.Tree.Populate(root); err != nil {
		return err
	}
	for _, b := range job.Binds {
		if err := rootfs.MountPoint(root, b.Destination, b.Directory); err != nil {
			return err
		}
	}
	return nil
}

func bindAll(root string, job *Job, files []*os.File) error {
	for _, b := range job.Tree.Binds {
		if err := bind(filepath.Join(root, b.Destination), source{path: b.Source}, ReadOnly); err != nil {
			return fmt.Errorf("bind %s: %w", b.Source, err)
		}
	}
	for _, b := range job.Binds {
		from := source{path: b.Source, dev: b.Dev, ino: b.Ino, mount: detached(files, b.Mount)}
		if err := bind(filepath.Join(root, b.Destination), from, ReadOnly); err != nil {
			return fmt.Errorf("bind %s: %w", b.Source, err)
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(files[0].Fd()), &st); err != nil {
		return err
	}
	from := source{path: job.WorkPath, dev: st.Dev, ino: st.Ino, mount: detached(files, job.WorkMount)}
	if err := bind(filepath.Join(root, "work"), from, ReadWrite); err != nil {
		return fmt.Errorf("bind %s: %w", job.WorkPath, err)
	}
	return nil
}

func detached(files []*os.File, i int) *os.File {
	if i == 0 || i >= len(files) {
		return nil
	}
	return files[i]
}

// ownMounts keeps the mounts that have no source on the host, and the init.
func ownMounts(mounts []specs.Mount) []specs.Mount {
	var own []specs.Mount
	for _, m := range mounts {
		if m.Type != "bind" || m.Source == InitPath {
			own = append(own, m)
		}
	}
	return own
}

// Attributes of what is bound.
const (
	ReadWrite = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	ReadOnly  = ReadWrite | unix.MOUNT_ATTR_RDONLY
)

// source of a bind: a detached mount, or a path that must lead to a certain inode where one is given.
type source struct {
	path     string
	dev, ino uint64
	mount    *os.File
}

var errSwapped = errors.New("it is no longer the file that was checked at the start")

// bind mounts the source on target.
func bind(target string, from source, attributes uint64) error {
	tree := from.mount
	if tree == nil {
		var err error
		if tree, err = OpenTree(from.path, attributes); err != nil {
			return err
		}
		defer tree.Close()
	}
	if from.ino != 0 {
		var st unix.Stat_t
		if err := unix.Fstat(int(tree.Fd()), &st); err != nil {
			return err
		}
		if st.Dev != from.dev || st.Ino != from.ino {
			return errSwapped
		}
	}
	if err := unix.MoveMount(int(tree.Fd()), "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

// OpenTree clones what is mounted at path as a detached mount with the attributes, private, with
// everything mounted below it (open_tree(2), mount_setattr(2)).
func OpenTree(path string, attributes uint64) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return nil, fmt.Errorf("open_tree: %w", err)
	}
	tree := os.NewFile(uintptr(fd), path)
	attr := unix.MountAttr{Attr_set: attributes, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return nil, errors.Join(fmt.Errorf("mount_setattr: %w", err), tree.Close())
	}
	return tree, nil
}
