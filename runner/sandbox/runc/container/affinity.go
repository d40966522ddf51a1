package container

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// maxCPUs exceeds every kernel's limit.
const maxCPUs = 64 << 10

// keepCPUs gives a container's first process this process's CPU set, which is the launcher's: libcontainer resets it to
// all CPUs, even if a batch system or taskset(1) allows fewer. If both are the same it does nothing, so that CPUs added
// to the control group later are available.
func keepCPUs(pid int) error {
	own, its := unix.NewCPUSet(maxCPUs), unix.NewCPUSet(maxCPUs)
	err := errors.Join(unix.SchedGetaffinityDynamic(0, own), unix.SchedGetaffinityDynamic(pid, its))
	if err == nil && !slices.Equal(own, its) {
		err = unix.SchedSetaffinityDynamic(pid, own)
	}
	if err == nil || errors.Is(err, unix.EINVAL) { // none is in its control group's set, which counts
		return nil
	}
	return fmt.Errorf("keep the launcher's set of CPUs: %w", err)
}
