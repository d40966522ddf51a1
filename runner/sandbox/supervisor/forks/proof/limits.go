package proof

import (
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// resources are those of getrlimit(2) by their names in an OCI specification.
var resources = map[string]int{"RLIMIT_DATA": unix.RLIMIT_DATA, "RLIMIT_NOFILE": unix.RLIMIT_NOFILE, "RLIMIT_NPROC": unix.RLIMIT_NPROC}

// allResources is how many resources the kernel knows.
const allResources = 16

// Limit gives a process the resource limits of its container's init, and those that only the analysis has.
func Limit(pid, init int, own []specs.POSIXRlimit) error {
	for resource := range allResources {
		var l unix.Rlimit
		err := unix.Prlimit(init, resource, nil, &l)
		if err == nil {
			err = unix.Prlimit(pid, resource, &l, nil)
		}
		if err != nil {
			return fmt.Errorf("limit resource %d: %w", resource, err)
		}
	}
	for _, l := range own {
		resource, is := resources[l.Type]
		if !is {
			continue
		}
		var most unix.Rlimit
		err := unix.Prlimit(init, resource, nil, &most)
		if err == nil {
			hard := min(l.Hard, most.Max)
			err = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: hard, Max: hard}, nil)
		}
		if err != nil {
			return fmt.Errorf("limit %s: %w", l.Type, err)
		}
	}
	return nil
}
