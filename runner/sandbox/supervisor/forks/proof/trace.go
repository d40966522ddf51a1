package proof

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracee is a process that this thread traces.
type tracee struct {
	pid   int
	until time.Time // no wait is longer
}

// moment is where the calls of a tracee are: struct ptrace_syscall_info (ptrace(2)).
type moment struct {
	op   uint8
	_    [3]byte
	_    uint32 // architecture: the filter refuses all but this one
	_, _ uint64 // addresses
	data [9]uint64
}

// number is that of a call that begins.
func (m moment) number() uint64 { return m.data[0] }

func (m moment) argument(n int) uint64 { return m.data[1+n] }

// failed reports whether a call that ends has failed.
func (m moment) failed() bool { return m.data[1]&0xff != 0 }

// asleep waits until it sleeps in a call. What comes before need not be traced, which would take long.
func (t tracee) asleep() error {
	return t.poll(func() (bool, error) {
		stat, err := readStat(t.pid)
		if err == nil && stat[statState] == "Z" {
			err = errEnded
		}
		return err == nil && stat[statState] == "S", err
	})
}

// seize stops the process, from now on a tracee.
func (t tracee) seize() error {
	if err := t.asleep(); err != nil {
		return err
	}
	if err := unix.PtraceSeize(t.pid); err != nil {
		return os.NewSyscallError("ptrace", err)
	}
	if err := unix.PtraceInterrupt(t.pid); err != nil {
		return os.NewSyscallError("ptrace", err)
	}
	if err := t.wait(); err != nil {
		return err
	}
	return os.NewSyscallError("ptrace", unix.PtraceSetOptions(t.pid, unix.PTRACE_O_TRACESYSGOOD))
}

// next lets it go on until its next call begins or ends, or a signal comes, which it does not get.
func (t tracee) next() (now moment, err error) {
	if err := unix.PtraceSyscall(t.pid, 0); err != nil {
		return now, os.NewSyscallError("ptrace", err)
	}
	if err := t.wait(); err != nil {
		return now, err
	}
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(t.pid), unsafe.Sizeof(now), uintptr(unsafe.Pointer(&now)), 0, 0)
	if errno != 0 {
		return now, os.NewSyscallError("ptrace", errno)
	}
	return now, nil
}

var errEnded = errors.New("it has ended")

// wait waits until it is stopped. Its end is left to who reaps it.
func (t tracee) wait() error {
	const trapped, stopped = 4, 5 // CLD_TRAPPED, CLD_STOPPED (sigaction(2))
	return t.poll(func() (bool, error) {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, t.pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
		stands := info.Code == trapped || info.Code == stopped
		switch {
		case errors.Is(err, unix.EINTR):
			return false, nil
		case err == nil && info.Code != 0 && !stands:
			err = errEnded
		}
		return stands, err
	})
}

// poll asks until something is so.
func (t tracee) poll(is func() (bool, error)) error {
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		if done, err := is(); done || err != nil {
			return err
		}
		if time.Now().After(t.until) {
			return fmt.Errorf("process %d does not go on", t.pid)
		}
		time.Sleep(pause)
	}
}
