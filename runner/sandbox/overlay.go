package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/testhole"
)

// Walls is how host paths are shown to an analysis.
type Walls struct {
	// Sockets is the weakest wall of the directories that the run binds.
	Sockets SocketWall `json:"sockets,omitempty"`
	// Bare lists the sources shown as they are, without an overlay.
	Bare []string `json:"bare,omitempty"`
}

func (w *Walls) note(wall SocketWall, source string) {
	if wall == WallScan {
		w.Bare = append(w.Bare, source)
	}
}

// SocketWall is what keeps the analysis from connecting to a unix socket, or opening a FIFO, in a directory that it can
// read: a read-only mount does not.
type SocketWall string

// The walls. Empty: no directory is bound.
const (
	// WallOverlay: a read-only overlay, which has its own inodes. Nothing listens on a socket in it (connect(2) gives
	// ECONNREFUSED), not even on one made later.
	WallOverlay SocketWall = "overlay"
	// WallScan: no overlay was possible. A scan by the launcher found no socket.
	WallScan SocketWall = "scan"
)

// and is the weaker of two.
func (w SocketWall) and(other SocketWall) SocketWall {
	if w == "" || other == WallScan {
		return other
	}
	return w
}

// bindDirectory mounts a directory on target as a read-only overlay, or plainly where the kernel or its file system
// cannot be overlaid (before Linux 5.11; some network file systems; two stacked overlays).
func (a area) bindDirectory(target string, mount *os.File) (SocketWall, error) {
	if testhole.Open {
		return WallScan, attach(mount, target)
	}
	err := a.overlay(target, mount)
	if errors.Is(err, errNoOverlay) {
		return WallScan, attach(mount, target) // an attached mount can be moved
	}
	return WallOverlay, err
}

// bindFile mounts a single file on target: from an overlay of its directory, or plainly where there can be none, as where
// only the host's root can search that directory.
func (a area) bindFile(target string, b Bind, mount *os.File, files []*os.File) (SocketWall, error) {
	directory, err := givenOr(files, b.ParentMount, filepath.Dir(b.Place))
	if err == nil {
		defer directory.Close()
		err = a.overlayFile(target, b, directory)
	}
	if err == nil {
		return WallOverlay, nil
	}
	return WallScan, attach(mount, target)
}

// overlayFile leaves no mount behind on error.
func (a area) overlayFile(target string, b Bind, directory *os.File) error {
	if err := a.overlay(a.shown(), directory); err != nil {
		return errors.Join(err, unmount(a.lower()))
	}
	err := a.attachShown(target, b)
	return errors.Join(err, unmount(a.shown()))
}

func (a area) attachShown(target string, b Bind) error {
	file, err := inode.Open(filepath.Join(a.shown(), filepath.Base(b.Place)))
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
	mount, err := detach(file, readOnly, 0)
	if err != nil {
		return err
	}
	defer mount.Close()
	return attach(mount, target)
}

var errNoOverlay = errors.New("no overlay can be had")

// overlay shows a directory on target. It fails with errNoOverlay if it only got as far as lower. overlayfs takes layers
// by path and only from this mount namespace, and then has its own mount of them.
func (a area) overlay(target string, mount *os.File) error {
	return a.overlayBelow(target, mount, emptyDir)
}

// overlayBelow is overlay with layers above the directory, uppermost first.
func (a area) overlayBelow(target string, mount *os.File, above ...string) error {
	if err := attach(mount, a.lower()); err != nil {
		return err
	}
	if err := mountOverlay(target, append(above, a.lower())); err != nil {
		return fmt.Errorf("%w: %w", errNoOverlay, err)
	}
	return unmount(a.lower())
}

// mountOverlay mounts layers on target. A read-only overlay needs two, and the upper may be empty. In a user namespace
// its markers are user.* attributes (userxattr); xino=off keeps inode numbers (the kernel's overlayfs.rst).
func mountOverlay(target string, layers []string) error {
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
	return unix.Mount("overlay", target, "overlay", flags, "userxattr,xino=off,lowerdir="+strings.Join(layers, ":"))
}

func unmount(dir string) error {
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", dir, err)
	}
	return nil
}
