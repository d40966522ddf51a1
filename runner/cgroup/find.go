package cgroup

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// Find returns where this process can make groups with memory and pids limits, and cpu if possible. A *MissingError says
// what is missing.
func Find(ctx context.Context, sys System) (*Parent, error) {
	sys = sys.withDefaults()
	mounts, err := cgroupfs.ReadMounts(sys.Proc)
	if err != nil {
		return nil, err
	}
	own, err := cgroupfs.GroupsOf(sys.Proc, "self")
	if err != nil {
		return nil, err
	}
	if mounts.Has("memory") || mounts.Has("pids") {
		return findV1(sys, mounts, own)
	}
	if !mounts.Has("") {
		return nil, &MissingError{Reason: "no control group file system is mounted", Remedy: remedyRoot}
	}
	return findV2(ctx, sys, mounts[""], own[""])
}

func findV1(sys System, mounts cgroupfs.Mounts, own map[string]string) (*Parent, error) {
	if !sys.Root {
		return nil, &MissingError{Reason: "this host uses cgroup v1, where only root can set limits", Remedy: remedyRoot}
	}
	p := &Parent{Version: 1, dirs: map[string]string{}}
	for _, controller := range []string{"memory", "pids", "cpu", "cpuacct"} {
		m, ok := mounts[controller]
		if !ok {
			continue
		}
		dir := m.Dir(own[controller])
		if err := unix.Access(dir, unix.W_OK); err != nil {
			continue
		}
		p.dirs[controller] = dir
	}
	for _, controller := range []string{"memory", "pids"} {
		if p.dirs[controller] == "" {
			if mounts.Has(controller) { // as in containers
				return nil, &MissingError{Reason: fmt.Sprintf("the %s controller of cgroup v1 is not writable", controller), Remedy: remedyContainer}
			}
			return nil, &MissingError{Reason: fmt.Sprintf("the %s controller of cgroup v1 is missing", controller), Remedy: mountV1(controller) + " or " + remedyContainer}
		}
	}
	p.CPU = p.dirs["cpu"] != ""
	p.own, p.mover = p.dirs["memory"], os.Getpid()
	return p, nil
}
