package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// area is one run's part of the staging area; many can be made and removed concurrently. The zero area is none.
type area struct{ dir string }

func (a area) state() string { return filepath.Join(a.dir, "state") } // libcontainer's
func (a area) lower() string { return filepath.Join(a.dir, "lower") } // temporary mount point of an overlay's lower layer
func (a area) shown() string { return filepath.Join(a.dir, "shown") } // mount point of an overlay, to take a single file from
func (a area) tree() string  { return filepath.Join(a.dir, "tree") }  // tmpfs for the root filesystem
func (a area) dev() string   { return filepath.Join(a.dir, "dev") }   // the container's /dev

// mountPoints lists the possible mount points.
func (a area) mountPoints() []string { return []string{a.lower(), a.shown(), a.tree(), a.dev()} }

// newArea makes the area of a run; no other live run may have the id. An analysis sees the path as the layer of its
// overlays; it reveals only the id.
func newArea(id string) (area, error) {
	a := area{filepath.Join(stageDir, "run-"+id)}
	if err := os.Mkdir(a.dir, 0o711); err != nil { // the container's root, without rights here, searches it
		return area{}, err
	}
	for _, dir := range append(a.mountPoints(), a.state()) {
		if err := os.Mkdir(dir, 0o711); err != nil {
			return a, err
		}
	}
	return a, nil
}

// unmount unmounts everything in the area.
func (a area) unmount() error {
	for _, dir := range a.mountPoints() {
		if err := unmountAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// remove unmounts what is left and removes the directories, empty but for libcontainer's.
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

// unmountAll unmounts all mounts stacked on dir.
func unmountAll(dir string) error {
	for {
		err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT): // nothing mounted
			return nil
		case err != nil:
			return fmt.Errorf("unmount %s: %w", dir, err)
		}
	}
}
