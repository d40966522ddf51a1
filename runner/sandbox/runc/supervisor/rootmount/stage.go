// Package rootmount mounts a run's root filesystem and everything in it, before libcontainer makes the container.
package rootmount

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/container/initc"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// emptyDir is the upper layer of a two-layer overlay.
const emptyDir = protocol.StageDir + "/empty"

// MountStage mounts the staging area, with our PID 1 in it.
func MountStage() error {
	if err := mountTmpfs(protocol.StageDir); err != nil {
		return err
	}
	program, err := initc.Program()
	if err != nil {
		return err
	}
	if err := os.Mkdir(emptyDir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(protocol.InitPath, program, 0o555)
}

func mountTmpfs(dir string) error {
	return unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755")
}

// Stage builds a job's root filesystem with all its mounts, and leaves libcontainer's part in the OCI specification.
func (a Area) Stage(job *protocol.Job, files []*os.File) (binds sandbox.BindReport, err error) {
	top := a.tree()
	if err := mountTmpfs(top); err != nil {
		return binds, fmt.Errorf("tmpfs: %w", err)
	}
	root := top
	if job.Base == nil {
		err = populate(root, job, files)
	} else {
		root, err = a.stageBase(top, job, files)
	}
	if err != nil {
		return binds, err
	}
	if err := mountAllOwn(root, a.dev(), job); err != nil {
		return binds, err
	}
	if err := putCache(root, job.Cache, job.Owner); err != nil {
		return binds, fmt.Errorf("cache: %w", err)
	}
	if binds, err = a.bindAll(root, job, files); err != nil {
		return binds, err
	}
	job.Spec.Root.Path = root
	job.Spec.Mounts = ownMounts(a.dev(), job.Spec.Mounts)
	return binds, nil
}

func populate(root string, job *protocol.Job, files []*os.File) error {
	if err := job.Tree.Populate(root); err != nil {
		return err
	}
	for _, b := range job.Binds {
		if err := rootfs.MountPoint(root, b.Destination, b.Directory); err != nil {
			return err
		}
	}
	for _, path := range job.WorkDirs {
		if err := rootfs.MountPoint(root, path, true); err != nil {
			return err
		}
	}
	if job.Script != nil {
		return putScript(root, *job.Script, files[job.Files.Script])
	}
	return nil
}
