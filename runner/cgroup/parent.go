package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Parent is where groups of runs can be made.
type Parent struct {
	// Version of the interface, 1 or 2.
	Version int
	// CPU is false where the cpu controller is missing; memory and pids are always there.
	CPU bool
	// dirs holds the parent directory per controller (v1) or one under "" (v2).
	dirs map[string]string
	// own is the group that this process is in.
	own string
}

// System is where the kernel shows its control groups; the zero value is the running system.
type System struct {
	Proc string // "/proc" where empty
	Root bool   // whether the caller is the host's root, who alone may use v1
}

// MissingError says why no group can be made and which command would help.
type MissingError struct{ Reason, Remedy string }

func (e *MissingError) Error() string { return e.Reason + "; " + e.Remedy }

// remedyV1 helps a user where no control group can be had.
const remedyV1 = "run as root, or with `--limits best-effort` (rlimits and the clock only)"

// vacateTries is how often processes that fork while they are moved are moved after.
const vacateTries = 100

// remedyV2 is the command that gives a user, or root, a delegated group.
func remedyV2(uid int) string {
	start := "systemd-run --scope -p Delegate=yes scidex-oci run ..."
	if uid != 0 {
		start = "systemd-run --user --scope -p Delegate=yes scidex-oci run ..."
		if os.Getenv("XDG_RUNTIME_DIR") == "" {
			// A shell without a session of its own: cron, runuser, sudo -u.
			start = fmt.Sprintf("XDG_RUNTIME_DIR=/run/user/%d ", uid) + start
			if _, err := os.Stat(fmt.Sprintf("/run/user/%d/systemd", uid)); err != nil {
				start += "` after root's `loginctl enable-linger " + strconv.Itoa(uid)
			}
		}
	}
	return "start it as `" + start + "`, or run with `--limits best-effort` (rlimits and the clock only)"
}

// Find returns where this process can make groups with memory and pids limits, and cpu where
// possible. A *MissingError says what is missing.
func Find(sys System) (*Parent, error) {
	if sys.Proc == "" {
		sys.Proc = "/proc"
	}
	mounts, err := readMounts(filepath.Join(sys.Proc, "self/mountinfo"))
	if err != nil {
		return nil, err
	}
	own, err := readOwn(filepath.Join(sys.Proc, "self/cgroup"))
	if err != nil {
		return nil, err
	}
	if mounts.has("memory") || mounts.has("pids") {
		return findV1(sys, mounts, own)
	}
	if !mounts.has("") {
		return nil, &MissingError{"no control group file system is mounted", remedyV1}
	}
	return findV2(sys, mounts[""], own[""])
}

func findV1(sys System, mounts mounts, own map[string]string) (*Parent, error) {
	if !sys.Root {
		return nil, &MissingError{"this host uses cgroup v1, where only root can set limits", remedyV1}
	}
	p := &Parent{Version: 1, dirs: map[string]string{}}
	for _, controller := range []string{"memory", "pids", "cpu", "cpuacct"} {
		m, ok := mounts[controller]
		if !ok {
			continue
		}
		dir := m.dir(own[controller])
		if err := unix.Access(dir, unix.W_OK); err != nil {
			continue
		}
		p.dirs[controller] = dir
	}
	for _, controller := range []string{"memory", "pids"} {
		if p.dirs[controller] == "" {
			return nil, &MissingError{
				fmt.Sprintf("the %s controller of cgroup v1 is missing or not writable", controller), remedyV1,
			}
		}
	}
	p.CPU = p.dirs["cpu"] != ""
	p.own = p.dirs["memory"]
	return p, nil
}

// findV2 looks for a delegated subtree: from the process' own group upwards, the first directory that
// is writable and hands memory and pids down, or can be made to. It never leaves the systemd unit that
// the process is in: what is above belongs to systemd, which takes controllers back as it likes
// (https://systemd.io/CGROUP_DELEGATION).
func findV2(sys System, m mount, own string) (*Parent, error) {
	start := m.dir(own)
	unit := unitOf(m, start)
	reason := "the control group of this process is not delegated to the caller"
	if unit != m.point && !delegated(unit) {
		return nil, &MissingError{reason, remedyV2(os.Geteuid())}
	}
	for dir := start; within(unit, dir); dir = filepath.Dir(dir) {
		if !writable(dir) {
			continue
		}
		if missing := lacking(dir, "cgroup.controllers"); len(missing) > 0 {
			reason = fmt.Sprintf("control group %s does not have the %s controller", dir, strings.Join(missing, " and "))
			continue
		}
		cpu, err := enable(dir, dir == unit && unit != m.point)
		if err != nil {
			reason = err.Error()
			continue
		}
		now, err := readOwn(filepath.Join(sys.Proc, "self/cgroup")) // vacate may have moved this process
		if err != nil {
			return nil, err
		}
		start = m.dir(now[""])
		return &Parent{Version: 2, CPU: cpu, dirs: map[string]string{"": dir}, own: start}, nil
	}
	return nil, &MissingError{reason, remedyV2(os.Geteuid())}
}

func writable(dir string) bool {
	for _, name := range []string{".", "cgroup.procs", "cgroup.subtree_control"} {
		if unix.Access(filepath.Join(dir, name), unix.W_OK) != nil {
			return false
		}
	}
	return true
}

// lacking returns which of the controllers that every run needs a file of controllers does not list.
func lacking(dir, file string) []string {
	text, err := read(dir, file)
	if err != nil {
		return []string{"memory", "pids"}
	}
	have := strings.Fields(text)
	return slices.DeleteFunc([]string{"memory", "pids"}, func(c string) bool { return slices.Contains(have, c) })
}

// enable hands the controllers of dir down to its children. A group with processes of its own cannot
// (the "no internal processes" rule); they move to a leaf first where they may.
func enable(dir string, all bool) (cpu bool, err error) {
	if len(lacking(dir, "cgroup.subtree_control")) > 0 {
		if err := handDown(dir, all); err != nil {
			return false, fmt.Errorf("control group %s cannot hand its controllers down: %w", dir, err)
		}
	}
	if !handsDown(dir, "cpu") {
		// The default CPU limit is best effort where the controller is missing: the caller decides by Parent.CPU.
		if err := write(dir, "cgroup.subtree_control", "+cpu"); err != nil {
			return false, nil //nolint:nilerr // said through the result
		}
	}
	return handsDown(dir, "cpu"), nil
}

// handDown tries again where a process has forked while it was moved.
func handDown(dir string, all bool) (err error) {
	for range vacateTries {
		if err = vacate(dir, all); err != nil {
			return err
		}
		if err = write(dir, "cgroup.subtree_control", "+memory +pids"); !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return err
}

func handsDown(dir, controller string) bool {
	text, err := read(dir, "cgroup.subtree_control")
	return err == nil && slices.Contains(strings.Fields(text), controller)
}

// vacate moves the processes of dir to a leaf of it: all of them where dir is a unit delegated to us, which
// has no others than the user's, else only this one.
func vacate(dir string, all bool) error {
	pids, err := pidsOf(dir)
	if err != nil || len(pids) == 0 {
		return err
	}
	if !all && (len(pids) > 1 || pids[0] != os.Getpid()) {
		return fmt.Errorf("control group %s has %d processes of its own", dir, len(pids))
	}
	leaf := filepath.Join(dir, "scidex-oci-launcher")
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, pid := range pids {
		// A process that has ended in the meantime is as good as moved.
		if err := write(leaf, "cgroup.procs", strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
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
