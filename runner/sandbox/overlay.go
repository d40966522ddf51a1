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

// Walls is how what is the host's is shown to an analysis.
type Walls struct {
	// Sockets is the wall before the directories that the run binds, the weakest of them.
	Sockets SocketWall `json:"sockets,omitempty"`
	// Bare are the sources that are shown as they are and not through an overlay.
	Bare []string `json:"bare,omitempty"`
}

func (w *Walls) note(wall SocketWall, source string) {
	if wall == WallScan {
		w.Bare = append(w.Bare, source)
	}
}

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
func (a area) bindDirectory(target string, mount *os.File) (SocketWall, error) {
	if testhole.Open {
		return WallScan, attach(mount, target)
	}
	err := a.overlay(target, mount)
	if errors.Is(err, errNoOverlay) {
		return WallScan, attach(mount, target) // what is attached can be moved on
	}
	return WallOverlay, err
}

// bindFile mounts a single file on target: out of an overlay of its directory, or as it is where there can
// be none, as where only the host's root can search that directory.
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

// overlayFile fails with nothing left mounted.
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

// overlay shows a directory on target. It fails with errNoOverlay where it has only come to lower.
// overlayfs takes its layers from this mount namespace only, and by path; it then has a mount of its own of
// the layer.
func (a area) overlay(target string, mount *os.File) error {
	return a.overlayBelow(target, mount, emptyDir)
}

// overlayBelow is overlay with something above the directory: layers of which the first is the uppermost.
func (a area) overlayBelow(target string, mount *os.File, above ...string) error {
	if err := attach(mount, a.lower()); err != nil {
		return err
	}
	if err := mountOverlay(target, append(above, a.lower())); err != nil {
		return fmt.Errorf("%w: %w", errNoOverlay, err)
	}
	return unmount(a.lower())
}

// mountOverlay shows layers on target. A read-only overlay needs two, the upper of which may be
// empty; in a user namespace its own marks are user.* attributes (userxattr); files keep the numbers of
// their inodes (xino=off; kernel's overlayfs.rst).
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
