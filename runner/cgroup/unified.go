package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/systemd"
)

// leafName is the group below a parent that takes our own processes from it.
const leafName = "scidex-oci"

// vacateTries bounds the retries for processes that fork while moved.
const vacateTries = 100

// findV2 finds a delegated subtree: from the process's own group upwards, the first writable directory that delegates
// memory and pids, or can be made to. It never leaves the process's systemd unit: what is above belongs to systemd, which
// may take controllers back (https://systemd.io/CGROUP_DELEGATION).
func findV2(ctx context.Context, sys System, m cgroupfs.Mount, own string) (*Parent, error) {
	start := m.Dir(own)
	unit := systemd.UnitOf(m.Point, start)
	missing := &MissingError{Reason: "the control group of this process is not delegated to the caller", Remedy: remedyRoot, Unified: true}
	if unit != m.Point && !systemd.Delegated(ctx, unit) {
		return nil, missing
	}
	for dir := start; cgroupfs.Within(unit, dir); dir = filepath.Dir(dir) {
		if !writable(dir) {
			continue
		}
		parent, err := handOver(dir, dir == unit && unit != m.Point)
		if err != nil {
			missing.Reason = err.Error()
			continue
		}
		now, err := cgroupfs.GroupsOf(sys.Proc, "self") // vacate may have moved this process
		if err != nil {
			return nil, err
		}
		parent.own, parent.mover = m.Dir(now[""]), os.Getpid()
		return parent, nil
	}
	return nil, missing
}

func writable(dir string) bool {
	for _, name := range []string{".", "cgroup.procs", "cgroup.subtree_control"} {
		if unix.Access(filepath.Join(dir, name), unix.W_OK) != nil {
			return false
		}
	}
	return true
}

// handOver makes dir a parent of groups: it enables controllers for its children. A group with processes cannot do that
// (the "no internal processes" rule); they first move to a leaf if they may.
func handOver(dir string, all bool) (*Parent, error) {
	if missing := lacking(dir, "cgroup.controllers"); len(missing) > 0 {
		return nil, &lackingError{dir, missing}
	}
	if len(lacking(dir, "cgroup.subtree_control")) > 0 {
		if err := handDown(dir, all); err != nil {
			return nil, fmt.Errorf("control group %s cannot hand its controllers down: %w", dir, err)
		}
	}
	if !handsDown(dir, "cpu") {
		// A missing cpu controller is no error here: the caller checks Parent.CPU.
		_ = cgroupfs.Write(dir, "cgroup.subtree_control", "+cpu")
	}
	return &Parent{Version: 2, CPU: handsDown(dir, "cpu"), dirs: map[string]string{"": dir}}, nil
}

// lacking returns the required controllers that a file does not list.
func lacking(dir, file string) []string {
	text, err := cgroupfs.Read(dir, file)
	if err != nil {
		return []string{"memory", "pids"}
	}
	have := strings.Fields(text)
	return slices.DeleteFunc([]string{"memory", "pids"}, func(c string) bool { return slices.Contains(have, c) })
}

// handDown retries if a process has forked while moved.
func handDown(dir string, all bool) (err error) {
	for range vacateTries {
		if err = vacate(dir, all); err != nil {
			return err
		}
		if err = cgroupfs.Write(dir, "cgroup.subtree_control", "+memory +pids"); !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return err
}

func handsDown(dir, controller string) bool {
	text, err := cgroupfs.Read(dir, "cgroup.subtree_control")
	return err == nil && slices.Contains(strings.Fields(text), controller)
}

// vacate moves the processes of dir to a leaf: all of them if dir is a unit delegated to us, whose processes are all the
// user's, else only this one.
func vacate(dir string, all bool) error {
	pids, err := cgroupfs.Pids(dir)
	if err != nil || len(pids) == 0 {
		return err
	}
	if !all && (len(pids) > 1 || pids[0] != os.Getpid()) {
		return fmt.Errorf("control group %s has %d processes of its own", dir, len(pids))
	}
	leaf := filepath.Join(dir, leafName)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, pid := range pids {
		// A process that has ended counts as moved.
		if err := cgroupfs.Write(leaf, "cgroup.procs", strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}
