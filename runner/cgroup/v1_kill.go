package cgroup

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// kill sends SIGKILL to each process: v1 has no cgroup.kill. The caller repeats it until none is left.
func (g v1) kill() error {
	pids, err := cgroupfs.Pids(g.pids)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(pids, killedAtOnce) {
		if err := killMembers(g.pids, some); err != nil {
			return err
		}
	}
	return nil
}

// killedAtOnce is the number of pidfds used at once: few descriptors may be free.
const killedAtOnce = 16

// killMembers kills the processes that are still in the group after their pidfds were opened: a pid may have been reused.
func killMembers(dir string, pids []int) error {
	members := map[int]int{}
	defer func() {
		for _, fd := range members {
			unix.Close(fd)
		}
	}()
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		switch {
		case err == nil:
			members[pid] = fd
		case !errors.Is(err, unix.ESRCH):
			return fmt.Errorf("open process %d of control group %s: %w", pid, dir, err)
		}
	}
	still, err := cgroupfs.Pids(dir)
	if err != nil {
		return err
	}
	for _, pid := range still {
		if fd, ok := members[pid]; ok {
			if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
	}
	return nil
}
