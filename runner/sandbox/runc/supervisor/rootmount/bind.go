package rootmount

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
	"github.com/scidex-ai/scidex-oci/runner/host/mountfd"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// Each source is opened once, checked on the descriptor and mounted from it, so that a path swapped meanwhile has no
// effect (open_tree(2), mount_setattr(2), move_mount(2)).

// bindAll mounts a job's host binds below root.
func (a Area) bindAll(root string, job *protocol.Job, files []*os.File) (binds sandbox.BindReport, err error) {
	for _, b := range job.Tree.Binds {
		wall, err := a.bindTree(filepath.Join(root, b.Destination), b.Source)
		if err != nil {
			return binds, fmt.Errorf("bind %s: %w", b.Source, err)
		}
		binds.Note(wall, b.Source)
	}
	for i, b := range job.Binds {
		mounts := job.Files.Bind(i)
		given := [2]*os.File{protocol.Given(files, mounts.Source), protocol.Given(files, mounts.Parent)}
		wall, err := a.bindInput(root, b, job.Spec.Mounts, given)
		if err != nil {
			return binds, fmt.Errorf("bind %s: %w", b.Source, err)
		}
		binds.Note(wall, b.Source)
		if b.Directory {
			binds.Sockets = binds.Sockets.Weaker(wall)
		}
	}
	if err := bindWork(root, job, files); err != nil {
		return binds, fmt.Errorf("bind %s: %w", job.WorkPath, err)
	}
	return binds, nil
}

// bindTree mounts a part of the root filesystem. A part with mounts below it cannot be an overlay: that would show what
// they hide, which a user namespace may not see (EINVAL; mount_namespaces(7), locked mounts).
func (a Area) bindTree(target, path string) (sandbox.SocketWall, error) {
	source, err := inode.Open(path)
	if err != nil {
		return "", err
	}
	defer source.Close()
	mount, err := mountfd.Detach(source, mountfd.ReadOnly, 0)
	if err == nil {
		defer mount.Close()
		return a.bindDirectory(target, mount)
	}
	if !errors.Is(err, unix.EINVAL) {
		return "", err
	}
	if mount, err = mountfd.Detach(source, mountfd.ReadOnly, unix.AT_RECURSIVE); err != nil {
		return "", err
	}
	defer mount.Close()
	return sandbox.WallScan, mountfd.Attach(mount, target)
}

// bindInput mounts one of the run's read-only binds below root. given are its detached mount and that of its directory, nil where the
// launcher sent none.
func (a Area) bindInput(root string, b sandbox.Bind, own []specs.Mount, given [2]*os.File) (sandbox.SocketWall, error) {
	target := filepath.Join(root, b.Destination)
	if err := pointIn(root, b, own); err != nil {
		return "", err
	}
	mount, err := givenOr(given[0], b.Source)
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
	return a.bindFile(target, b, mount, given[1])
}

// pointIn makes the mount point of a bind inside one of the container's tmpfs, such as a runtime below /tmp: the tmpfs
// hides the one made in the root.
func pointIn(root string, b sandbox.Bind, own []specs.Mount) error {
	for _, m := range own {
		if below, is := strings.CutPrefix(b.Destination, m.Destination+"/"); is && m.Type == "tmpfs" {
			return rootfs.MountPoint(filepath.Join(root, m.Destination), "/"+below, b.Directory)
		}
	}
	return nil
}

// givenOr returns the detached mount that the launcher sent, or makes one of path.
func givenOr(given *os.File, path string) (*os.File, error) {
	if given != nil {
		return given, nil
	}
	return mountfd.Open(path, mountfd.ReadOnly)
}

// bindWork mounts the working directory, which has no mount of the run's in it.
func bindWork(root string, job *protocol.Job, files []*os.File) error {
	target := filepath.Join(root, job.WorkDirs[0])
	var st unix.Stat_t
	if err := unix.Fstat(int(files[0].Fd()), &st); err != nil {
		return err
	}
	mount := protocol.Given(files, job.Files.Work)
	if mount == nil {
		var err error
		if mount, err = mountfd.Open(job.WorkPath, mountfd.ReadWrite); err != nil {
			return err
		}
		defer mount.Close()
	}
	if err := check(mount, st.Dev, st.Ino); err != nil {
		return err
	}
	if err := mountfd.Attach(mount, target); err != nil {
		return err
	}
	return bindAgain(root, mount, job.WorkDirs[1:])
}

// bindAgain mounts at further paths what was attached; what is attached nowhere cannot be cloned by older kernels.
func bindAgain(root string, attached *os.File, paths []string) error {
	for _, path := range paths {
		mount, err := mountfd.DetachReadWrite(attached)
		if err != nil {
			return err
		}
		err = mountfd.AttachBelow(root, path, mount)
		mount.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

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
