package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// area is the part of the staging area that one run has, so that several are made and dropped at the same time. The
// zero area is none.
type area struct{ dir string }

func (a area) state() string { return filepath.Join(a.dir, "state") } // libcontainer's
func (a area) lower() string { return filepath.Join(a.dir, "lower") } // where the lower layer of an overlay is mounted meanwhile
func (a area) shown() string { return filepath.Join(a.dir, "shown") } // where an overlay is mounted of which a single file is wanted
func (a area) tree() string  { return filepath.Join(a.dir, "tree") }  // the tmpfs in which the root filesystem is made
func (a area) dev() string   { return filepath.Join(a.dir, "dev") }   // the container's /dev

// mountPoints are all at which something is mounted.
func (a area) mountPoints() []string { return []string{a.lower(), a.shown(), a.tree(), a.dev()} }

// newArea makes one for a run whose id no other has meanwhile. An analysis sees the path, which says nothing but its
// id, as the layer of its overlays.
func newArea(id string) (area, error) {
	a := area{filepath.Join(stageDir, "run-"+id)}
	if err := os.Mkdir(a.dir, 0o711); err != nil { // the container's root, which has no right here, passes it
		return area{}, err
	}
	for _, dir := range append(a.mountPoints(), a.state()) {
		if err := os.Mkdir(dir, 0o711); err != nil {
			return a, err
		}
	}
	return a, nil
}

// unmount drops whatever is mounted there.
func (a area) unmount() error {
	for _, dir := range a.mountPoints() {
		if err := unmountAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// remove drops what is left of it: mounts, and then the directories, which are empty but for libcontainer's.
func (a area) remove() error {
	if a.dir == "" {
		return nil
	}
	if err := a.unmount(); err != nil {
		return err
	}
	for _, dir := range a.mountPoints() {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.RemoveAll(a.dir)
}

// unmountAll drops all that is mounted on dir, one above the other.
func unmountAll(dir string) error {
	for {
		err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT): // nothing is (any more)
			return nil
		case err != nil:
			return fmt.Errorf("unmount %s: %w", dir, err)
		}
	}
}
