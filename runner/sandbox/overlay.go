package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/breach"
)

// SocketWall is what keeps the analysis from connecting to a unix socket, or opening a FIFO, in a
// directory that it can read: a read-only mount does not.
type SocketWall string

// The walls. No directory is bound where it is empty.
const (
	// WallOverlay: the directory is shown through a read-only overlay, whose inodes are its own. A socket
	// in it is nobody's (connect(2) gives ECONNREFUSED), also one that is made later.
	WallOverlay SocketWall = "overlay"
	// WallScan: overlayfs could not be had. The directory had no socket when the launcher looked.
	WallScan SocketWall = "scan"
)

// and is the weaker of two.
func (w SocketWall) and(other SocketWall) SocketWall {
	if w == "" || other == WallScan {
		return other
	}
	return w
}

// bindDirectory mounts a directory on target as a read-only overlay, or as it is where the kernel or the
// directory's file system allows none (before Linux 5.11; some network file systems; overlays stacked
// twice already).
func bindDirectory(target string, mount *os.File) (SocketWall, error) {
	if breach.Open {
		return WallScan, attach(mount, target)
	}
	// overlayfs takes its layers from this mount namespace only, and by path.
	if err := attach(mount, lowerDir); err != nil {
		return "", err
	}
	overlayError := mountOverlay(target)
	if overlayError == nil {
		// The overlay has a mount of its own of the layer.
		return WallOverlay, unmountLower()
	}
	// What is attached can be moved on.
	if err := moveLower(target); err != nil {
		return "", errors.Join(err, fmt.Errorf("overlay: %w", overlayError), unmountLower())
	}
	return WallScan, nil
}

// mountOverlay shows lowerDir on target. A read-only overlay needs two layers, the upper of which is
// empty; in a user namespace its own marks are user.* attributes (userxattr, kernel's overlayfs.rst).
func mountOverlay(target string) error {
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
	return unix.Mount("overlay", target, "overlay", flags, "userxattr,lowerdir="+emptyDir+":"+lowerDir)
}

func moveLower(target string) error {
	if err := unix.MoveMount(unix.AT_FDCWD, lowerDir, unix.AT_FDCWD, target, 0); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

func unmountLower() error {
	if err := unix.Unmount(lowerDir, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount a layer: %w", err)
	}
	return nil
}
