package rootmount

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// The layers of a root filesystem from a host directory, and where they are combined; all in the job's tmpfs.
const (
	madeLayer = "made"  // what the tree adds
	veilLayer = "veil"  // hides parts of the directory
	wholeRoot = "whole" // "/"
)

// stageBase shows a directory as the "/" of a job, with the tree's additions, and returns the mount point. It uses one
// overlay and resolves no path inside the directory, so its symbolic links lead nowhere.
//
// A directory that cannot be overlaid is refused. A plain bind would expose the host's sockets and FIFOs and leave no
// mount points for the run's own mounts.
func (a Area) stageBase(top string, job *protocol.Job, files []*os.File) (root string, err error) {
	made, veil, root := filepath.Join(top, madeLayer), filepath.Join(top, veilLayer), filepath.Join(top, wholeRoot)
	for _, dir := range []string{made, veil, root} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return root, err
		}
	}
	if err := errors.Join(populate(made, job, files), job.Tree.Veil(veil)); err != nil {
		return root, err
	}
	mount, err := givenOr(protocol.Given(files, job.Files.Base), job.Base.Source)
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
