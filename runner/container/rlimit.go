package container

import (
	"fmt"

	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// resources are the rlimits that spec sets, by their name in getrlimit(2).
var resources = map[string]int{
	"RLIMIT_CORE":     unix.RLIMIT_CORE,
	"RLIMIT_DATA":     unix.RLIMIT_DATA,
	"RLIMIT_FSIZE":    unix.RLIMIT_FSIZE,
	"RLIMIT_MEMLOCK":  unix.RLIMIT_MEMLOCK,
	"RLIMIT_MSGQUEUE": unix.RLIMIT_MSGQUEUE,
	"RLIMIT_NOFILE":   unix.RLIMIT_NOFILE,
	"RLIMIT_NPROC":    unix.RLIMIT_NPROC,
}

// rlimits translates the specification's; libcontainer takes them from the process alone. None is above
// the hard limit that this process has itself: only the host's root can raise that (getrlimit(2)).
func rlimits(asked []specs.POSIXRlimit) ([]configs.Rlimit, error) {
	var limits []configs.Rlimit
	for _, l := range asked {
		resource, ok := resources[l.Type]
		if !ok {
			return nil, fmt.Errorf("unknown rlimit %q", l.Type)
		}
		var own unix.Rlimit
		if err := unix.Getrlimit(resource, &own); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Type, err)
		}
		limits = append(limits, configs.Rlimit{Type: resource, Hard: min(l.Hard, own.Max), Soft: min(l.Soft, own.Max)})
	}
	return limits, nil
}
