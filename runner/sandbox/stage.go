package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/container/initc"
)

// The staging area is a tmpfs that only the supervisor's mount namespace has. It hides a directory that exists everywhere
// and in which no user has files; nothing below it is needed here.
const (
	stageDir = "/sys/kernel"
	emptyDir = stageDir + "/empty" // upper layer of a two-layer overlay
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
	if err := os.Mkdir(emptyDir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(InitPath, program, 0o555)
}

func mountTmpfs(dir string) error {
	return unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755")
}

// stage builds a job's root filesystem with all its mounts, and leaves libcontainer's part in the OCI specification.
func (a area) stage(job *Job, files []*os.File) (walls Walls, err error) {
	top := a.tree()
	if err := mountTmpfs(top); err != nil {
		return walls, fmt.Errorf("tmpfs: %w", err)
	}
	root := top
	if job.Base == nil {
		err = populate(root, job, files)
	} else {
		root, err = a.stageBase(top, job, files)
	}
	if err != nil {
		return walls, err
	}
	if err := furnish(root, a.dev(), job); err != nil {
		return walls, err
	}
	if walls, err = a.bindAll(root, job, files); err != nil {
		return walls, err
	}
	job.Spec.Root.Path = root
	job.Spec.Mounts = ownMounts(a.dev(), job.Spec.Mounts)
	return walls, nil
}

func populate(root string, job *Job, files []*os.File) error {
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
