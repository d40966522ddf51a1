package rootmount

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// Area is one run's part of the staging area; many can be made and removed concurrently. The zero area is none.
type Area struct{ dir string }

// State is the directory for libcontainer's state.
func (a Area) State() string { return filepath.Join(a.dir, "state") }

func (a Area) lower() string { return filepath.Join(a.dir, "lower") } // temporary mount point of an overlay's lower layer
func (a Area) shown() string { return filepath.Join(a.dir, "shown") } // mount point of an overlay, to take a single file from
func (a Area) tree() string  { return filepath.Join(a.dir, "tree") }  // tmpfs for the root filesystem
func (a Area) dev() string   { return filepath.Join(a.dir, "dev") }   // the container's /dev

// mountPoints lists the possible mount points.
func (a Area) mountPoints() []string { return []string{a.lower(), a.shown(), a.tree(), a.dev()} }

// NewArea makes the area of a run; no other live run may have the id. An analysis sees the path as the layer of its
// overlays; it reveals only the id.
func NewArea(id string) (Area, error) {
	a := Area{filepath.Join(protocol.StageDir, "run-"+id)}
	if err := os.Mkdir(a.dir, 0o711); err != nil { // the container's root, without rights here, searches it
		return Area{}, err
	}
	for _, dir := range append(a.mountPoints(), a.State()) {
		if err := os.Mkdir(dir, 0o711); err != nil {
			return a, err
		}
	}
	return a, nil
}

// Unmount unmounts everything in the area.
func (a Area) Unmount() error {
	for _, dir := range a.mountPoints() {
		if err := unmountAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// Remove unmounts what is left and removes the directories, empty but for libcontainer's.
func (a Area) Remove() error {
	if a.dir == "" {
		return nil
	}
	if err := a.Unmount(); err != nil {
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
