package rootmount

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/mountfd"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/testhole"
)

// bindDirectory mounts a directory on target as a read-only overlay, or plainly where the kernel or its file system
// cannot be overlaid (before Linux 5.11; some network file systems; two stacked overlays).
func (a Area) bindDirectory(target string, mount *os.File) (sandbox.SocketWall, error) {
	if testhole.Open {
		return sandbox.WallScan, mountfd.Attach(mount, target)
	}
	err := a.overlay(target, mount)
	if errors.Is(err, errNoOverlay) {
		return sandbox.WallScan, mountfd.Attach(mount, target) // an attached mount can be moved
	}
	return sandbox.WallOverlay, err
}

// bindFile mounts a single file on target: from an overlay of its directory, or plainly where there can be none, as where
// only the host's root can search that directory.
func (a Area) bindFile(target string, b sandbox.Bind, mount, parent *os.File) (sandbox.SocketWall, error) {
	directory, err := givenOr(parent, filepath.Dir(b.RealPath))
	if err == nil {
		defer directory.Close()
		err = a.overlayFile(target, b, directory)
	}
	if err == nil {
		return sandbox.WallOverlay, nil
	}
	return sandbox.WallScan, mountfd.Attach(mount, target)
}

// overlayFile leaves no mount behind on error.
func (a Area) overlayFile(target string, b sandbox.Bind, directory *os.File) error {
	if err := a.overlay(a.shown(), directory); err != nil {
		return errors.Join(err, mountfd.Unmount(a.lower()))
	}
	err := a.attachShown(target, b)
	return errors.Join(err, mountfd.Unmount(a.shown()))
}

func (a Area) attachShown(target string, b sandbox.Bind) error {
	file, err := inode.Open(filepath.Join(a.shown(), filepath.Base(b.RealPath)))
	if err != nil {
		return err
	}
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return err
	}
	if st.Ino != b.Ino || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return errSwapped
	}
	mount, err := mountfd.Detach(file, mountfd.ReadOnly, 0)
	if err != nil {
		return err
	}
	defer mount.Close()
	return mountfd.Attach(mount, target)
}

var errNoOverlay = errors.New("no overlay can be had")

// overlay shows a directory on target. It fails with errNoOverlay if it only got as far as lower. overlayfs takes layers
// by path and only from this mount namespace, and then has its own mount of them.
func (a Area) overlay(target string, mount *os.File) error {
	return a.overlayBelow(target, mount, emptyDir)
}

// overlayBelow is overlay with layers above the directory, uppermost first.
func (a Area) overlayBelow(target string, mount *os.File, above ...string) error {
	if err := mountfd.Attach(mount, a.lower()); err != nil {
		return err
	}
	if err := mountOverlay(target, append(above, a.lower())); err != nil {
		return fmt.Errorf("%w: %w", errNoOverlay, err)
	}
	return mountfd.Unmount(a.lower())
}

// mountOverlay mounts layers on target. A read-only overlay needs two, and the upper may be empty. In a user namespace
// its markers are user.* attributes (userxattr); xino=off keeps inode numbers (the kernel's overlayfs.rst).
func mountOverlay(target string, layers []string) error {
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
	return unix.Mount("overlay", target, "overlay", flags, "userxattr,xino=off,lowerdir="+strings.Join(layers, ":"))
}
