package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/container/initc"
)

// The staging area is a tmpfs that only the supervisor's mount namespace has. It hides a directory that
// exists everywhere and in which no user has files; nothing here needs what is below it.
const (
	stageDir = "/sys/kernel"
	stateDir = stageDir + "/state" // libcontainer's
	emptyDir = stageDir + "/empty" // the upper of two layers of an overlay
	lowerDir = stageDir + "/lower" // where the lower one is mounted meanwhile
	shownDir = stageDir + "/shown" // where an overlay is mounted of which a single file is wanted
	// InitPath is our PID 1, bound into every container.
	InitPath = stageDir + "/init"
)

func mountStage() error {
	if err := mountTmpfs(stageDir); err != nil {
		return err
	}
	program, err := initc.Program()
	if err != nil {
		return err
	}
	for dir, mode := range map[string]os.FileMode{stateDir: 0o711, emptyDir: 0o755, lowerDir: 0o700, shownDir: 0o700} {
		if err := errors.Join(os.Mkdir(dir, mode), os.Chmod(dir, mode)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(InitPath, program, 0o555); err != nil {
		return err
	}
	return os.Chmod(InitPath, 0o555) // the umask took the others' bits
}

func mountTmpfs(dir string) error {
	return unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755")
}

// stage builds the root filesystem of a job with everything the host binds into it, and leaves in the
// OCI specification what is libcontainer's: the mounts of the container's own namespaces.
func stage(job *Job, files []*os.File) (walls Walls, err error) {
	top := topOf(job)
	if err := os.Mkdir(top, 0o755); err != nil {
		return walls, err
	}
	if err := mountTmpfs(top); err != nil {
		return walls, fmt.Errorf("tmpfs: %w", err)
	}
	root := top
	if job.Base == nil {
		err = populate(root, job, files)
	} else {
		root, err = stageBase(top, job, files)
	}
	if err != nil {
		return walls, err
	}
	if walls, err = bindAll(root, job, files); err != nil {
		return walls, err
	}
	job.Spec.Root.Path = root
	job.Spec.Mounts = ownMounts(job.Spec.Mounts)
	return walls, nil
}

// topOf is the tmpfs in which a job's root filesystem is made.
func topOf(job *Job) string { return filepath.Join(stageDir, "run-"+job.ID) }

// unstage drops the root filesystem of a container that has ended with all that is bound into it.
func unstage(job *Job) error {
	if err := unmount(topOf(job)); err != nil {
		return err
	}
	return os.Remove(topOf(job))
}

func populate(root string, job *Job, files []*os.File) error {
	// What is made here is for the analysis to read: not with the supervisor's umask.
	old := unix.Umask(0o022)
	defer unix.Umask(old)
	if err := job.Tree.Populate(root); err != nil {
		return err
	}
	for _, b := range job.Binds {
		if err := rootfs.MountPoint(root, b.Destination, b.Directory); err != nil {
			return err
		}
	}
	if job.Script != nil {
		return putScript(root, *job.Script, files[job.Script.File])
	}
	return nil
}

// ownMounts keeps the mounts that have no source on the host, and the init.
func ownMounts(mounts []specs.Mount) []specs.Mount {
	var own []specs.Mount
	for _, m := range mounts {
		if m.Type != "bind" || m.Source == InitPath {
			own = append(own, m)
		}
	}
	return own
}
