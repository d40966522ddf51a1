package container

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// maxCPUs is beyond what any kernel is built for.
const maxCPUs = 64 << 10

// keepCPUs gives a container's first process the set of CPUs of this one, which is the launcher's: libcontainer lets it run on
// all, also where a batch system or taskset(1) has left fewer. Where they are the same nothing is set, so that CPUs which its
// control group gets later are its as well.
func keepCPUs(pid int) error {
	own, its := unix.NewCPUSet(maxCPUs), unix.NewCPUSet(maxCPUs)
	err := errors.Join(unix.SchedGetaffinityDynamic(0, own), unix.SchedGetaffinityDynamic(pid, its))
	if err == nil && !slices.Equal(own, its) {
		err = unix.SchedSetaffinityDynamic(pid, own)
	}
	if err == nil || errors.Is(err, unix.EINVAL) { // none of them is in the set of its control group, which counts
		return nil
	}
	return fmt.Errorf("keep the launcher's set of CPUs: %w", err)
}
