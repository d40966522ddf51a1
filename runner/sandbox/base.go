package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The layers of a root filesystem that shows a directory of the host, and where they are shown as one: all in
// the job's own tmpfs.
const (
	madeLayer = "made"  // what the tree has of its own
	veilLayer = "veil"  // what keeps the directory from showing in the run's own
	wholeRoot = "whole" // "/"
)

// stageBase shows a directory as the "/" of a job, with what the tree makes in it and over it, and returns
// where. One overlay does that: no path of the directory is looked up here, and so no link in it leads anywhere.
//
// A directory of which no overlay can be had is refused. Bound as it is, its sockets and FIFOs would be the
// host's, and what the run has of its own would have nowhere to be mounted.
func (a area) stageBase(top string, job *Job, files []*os.File) (root string, err error) {
	made, veil, root := filepath.Join(top, madeLayer), filepath.Join(top, veilLayer), filepath.Join(top, wholeRoot)
	for _, dir := range []string{made, veil, root} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return root, err
		}
	}
	if err := errors.Join(populate(made, job, files), job.Tree.Veil(veil)); err != nil {
		return root, err
	}
	mount, err := givenOr(files, job.Base.Mount, job.Base.Source)
	if err == nil {
		defer mount.Close()
		err = check(mount, job.Base.Dev, job.Base.Ino)
	}
	if err == nil {
		err = a.overlayBelow(root, mount, made, veil)
	}
	if errors.Is(err, errNoOverlay) {
		err = fmt.Errorf("%w; put it on a file system that overlayfs takes, such as ext4", err)
	}
	if err != nil {
		err = fmt.Errorf("root filesystem %q: %w", job.Base.Source, err)
	}
	return root, err
}
