package cgroup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/shortage"
)

// Parent is where groups of runs are made.
type Parent struct {
	// Version of the interface, 1 or 2.
	Version int
	// CPU says that the cpu controller is available; memory and pids always are.
	CPU bool
	// dirs holds the parent directory per controller (v1) or one under "" (v2).
	dirs map[string]string
	// own is mover's group; mover is this process, or a scope's supervisor.
	own   string
	mover int
}

// System locates the kernel's control groups; the zero value is the running system.
type System struct {
	Proc string // "/proc" where empty
	Root bool   // the caller is the host's root; only root may use v1
}

func (sys System) withDefaults() System {
	if sys.Proc == "" {
		sys.Proc = "/proc"
	}
	return sys
}

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

// Plan returns the directories that New would make.
func (p *Parent) Plan(name string) []string {
	var dirs []string
	for _, dir := range p.dirs {
		path := filepath.Join(dir, "scidex-oci-"+name)
		// Controllers of v1 may be mounted together.
		if !slices.Contains(dirs, path) {
			dirs = append(dirs, path)
		}
	}
	slices.Sort(dirs)
	return dirs
}

func (p *Parent) open(name string) hierarchy {
	if p.Version == 2 {
		return v2{dir: p.Plan(name)[0]}
	}
	at := func(controller string) string {
		if p.dirs[controller] == "" {
			return ""
		}
		return filepath.Join(p.dirs[controller], "scidex-oci-"+name)
	}
	return v1{memory: at("memory"), pids: at("pids"), cpu: at("cpu"), cpuacct: at("cpuacct")}
}

// above returns the groups around one made here, which may have lower memory limits.
func (p *Parent) above() shortage.Groups {
	if p.Version == 2 {
		return shortage.Groups{Unified: true, Dirs: cgroupfs.Ancestors(p.dirs[""])}
	}
	return shortage.Groups{Dirs: cgroupfs.Ancestors(p.dirs["memory"])}
}
