package container

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// addrNoRandomize is ADDR_NO_RANDOMIZE of personality(2).
	addrNoRandomize = 0x0040000
	// asIs queries the current personality(2).
	asIs = 0xffffffff
)

// withFixedAddresses calls start on a thread whose children have no address randomisation: fork(2) inherits a personality
// and execve(2) keeps it. libcontainer has no option for it, and the filter refuses the call inside. A container around
// us may refuse it too: FixedAddresses reports the result.
func withFixedAddresses(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if before, err := personality(asIs); err == nil {
		if _, err := personality(before | addrNoRandomize); err == nil {
			defer personality(before) //nolint:errcheck // it was possible the other way
		}
	}
	return start()
}

func personality(persona uintptr) (before uintptr, err error) {
	before, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, persona, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return before, nil
}

// FixedAddresses reports whether the addresses of the container's first process are not randomised
// (proc_pid_personality(5)). Its children inherit that.
func (c *Container) FixedAddresses() (bool, error) {
	pid, err := c.Pid()
	if err != nil {
		return false, err
	}
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/personality")
	if err != nil {
		return false, err
	}
	persona, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 16, 64)
	return persona&addrNoRandomize != 0, err
}
