package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/systemd"
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
func (p *Parent) above() cgroupfs.Chain {
	if p.Version == 2 {
		return cgroupfs.Chain{Unified: true, Dirs: cgroupfs.Ancestors(p.dirs[""])}
	}
	return cgroupfs.Chain{Dirs: cgroupfs.Ancestors(p.dirs["memory"])}
}

// New makes the group name below parent, sets its limits and reads them back. It fails if the kernel reports another
// limit.
func (p *Parent) New(name string, limits Limits) (_ *Group, _ Limits, err error) {
	g := &Group{}
	for _, dir := range p.Plan(name) {
		if err := os.Mkdir(dir, 0o755); err != nil { // an existing one is another run's
			return nil, Limits{}, errors.Join(fmt.Errorf("make control group: %w", err), g.Remove())
		}
		g.dirs = append(g.dirs, dir)
	}
	g.files, g.above = p.open(name), p.above()
	g.before = g.above.Reached()
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Remove())
		}
	}()
	got, err := g.set(limits)
	return g, got, err
}

// GrantCPU says how the caller gets the cpu controller if CPU is false.
func (p *Parent) GrantCPU() string {
	switch {
	case p.Version == 1:
		return mountV1("cpu")
	case systemd.OfUserManager(p.dirs[""]):
		return delegateAll(os.Geteuid())
	default:
		return "delegate it (Delegate=yes)"
	}
}
