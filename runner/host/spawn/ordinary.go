package spawn

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	ioprioWhoProcess = 1 // of ioprio_set(2)
	ioprioNone       = 0 // I/O priority follows the niceness
)

// makeOrdinary gives a waiting process default scheduling, as far as the caller may. It is done from outside: in its own
// user namespace the process may not lower its niceness.
func makeOrdinary(pid int) error {
	if err := schedule(pid); err != nil {
		return fmt.Errorf("sched_setattr: %w", err)
	}
	_, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(pid), ioprioNone)
	if errno != 0 && errno != unix.ENOSYS { // a kernel without block devices
		return fmt.Errorf("ioprio_set: %w", errno)
	}
	return nil
}

// schedule sets the default policy with niceness 0 or, if the caller may not lower it, the current niceness. An
// unprivileged process cannot leave SCHED_IDLE, but any real-time policy.
func schedule(pid int) error {
	had, err := unix.SchedGetAttr(pid, 0)
	if err != nil {
		return err
	}
	err = setNormal(pid, 0)
	if errors.Is(err, unix.EPERM) {
		err = setNormal(pid, niceness(pid))
	}
	if errors.Is(err, unix.EPERM) && had.Policy == unix.SCHED_IDLE {
		return nil
	}
	return err
}

func setNormal(pid, nice int) error {
	return unix.SchedSetAttr(pid, &unix.SchedAttr{Policy: unix.SCHED_NORMAL, Nice: int32(nice)}, 0)
}

// niceness is that of getpriority(2), which the kernel returns as 40 to 1.
func niceness(pid int) int {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		return 0
	}
	return 20 - raw
}
