package container

import (
	"fmt"

	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// resources maps the rlimits of spec to getrlimit(2).
var resources = map[string]int{
	"RLIMIT_AS":         unix.RLIMIT_AS,
	"RLIMIT_CORE":       unix.RLIMIT_CORE,
	"RLIMIT_CPU":        unix.RLIMIT_CPU,
	"RLIMIT_FSIZE":      unix.RLIMIT_FSIZE,
	"RLIMIT_LOCKS":      unix.RLIMIT_LOCKS,
	"RLIMIT_MEMLOCK":    unix.RLIMIT_MEMLOCK,
	"RLIMIT_MSGQUEUE":   unix.RLIMIT_MSGQUEUE,
	"RLIMIT_NICE":       unix.RLIMIT_NICE,
	"RLIMIT_RSS":        unix.RLIMIT_RSS,
	"RLIMIT_RTPRIO":     unix.RLIMIT_RTPRIO,
	"RLIMIT_RTTIME":     unix.RLIMIT_RTTIME,
	"RLIMIT_SIGPENDING": unix.RLIMIT_SIGPENDING,
	"RLIMIT_STACK":      unix.RLIMIT_STACK,
}

// initOptions are the rlimits that our init sets: libcontainer's init runs under those it is given, and needs more memory
// and threads than an analysis may have. Ours sends a descriptor, and other analyses of the account may have as many in
// flight as one may open.
var initOptions = map[string]struct {
	resource int
	option   string
}{
	"RLIMIT_DATA":   {unix.RLIMIT_DATA, "--data"},
	"RLIMIT_NOFILE": {unix.RLIMIT_NOFILE, "--nofile"},
	"RLIMIT_NPROC":  {unix.RLIMIT_NPROC, "--nproc"},
}

// rlimits splits the specification's: for libcontainer, which takes them only from the process, and as options of
// init. None exceeds this process's hard limit, which only the host's root can raise (getrlimit(2)).
func rlimits(asked []specs.POSIXRlimit) (limits []configs.Rlimit, options []string, err error) {
	for _, l := range asked {
		option, isInits := initOptions[l.Type]
		resource, isLibcontainers := resources[l.Type]
		switch {
		case isInits:
			hard, err := atMost(option.resource, l.Hard)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", l.Type, err)
			}
			options = append(options, fmt.Sprintf("%s=%d", option.option, hard))
		case isLibcontainers:
			hard, err := atMost(resource, l.Hard)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", l.Type, err)
			}
			limits = append(limits, configs.Rlimit{Type: resource, Hard: hard, Soft: min(l.Soft, hard)})
		default:
			return nil, nil, fmt.Errorf("unknown rlimit %q", l.Type)
		}
	}
	own, err := atMost(unix.RLIMIT_NOFILE, unix.RLIM_INFINITY) // the soft limit applies
	return append(limits, configs.Rlimit{Type: unix.RLIMIT_NOFILE, Hard: own, Soft: own}), options, err
}

// atMost caps the value at this process's hard limit.
func atMost(resource int, value uint64) (uint64, error) {
	var own unix.Rlimit
	err := unix.Getrlimit(resource, &own)
	return min(value, own.Max), err
}
