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

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// leafName is the group below a parent that takes our own processes from it.
const leafName = "scidex-oci"

// vacateTries bounds the retries for processes that fork while moved.
const vacateTries = 100

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
