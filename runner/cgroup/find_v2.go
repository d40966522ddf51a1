package cgroup

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/systemd"
)

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
