package proof

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// rulesFD is where a process has the rules (RULES_FD of runner/container/initc/src/report.h).
const rulesFD = 6

// Restricted watches a process restrict itself by the rules of Landlock that the init of its container has made: the kernel does not
// show afterwards what holds another process. It traces its calls (ptrace(2)) from begin on, which the process waits for. It must
// first make its table of descriptors its own, so that no other process exchanges the rules, and then call landlock_restrict_self(2),
// with success.
func Restricted(pid int, rules *os.File, begin func() error, until time.Time) error {
	runtime.LockOSThread() // a process is traced by a thread
	defer runtime.UnlockOSThread()
	t := tracee{pid: pid, until: until}
	err := t.seize()
	if err == nil {
		err = begin()
	}
	w := watched{pid: pid, rules: rules}
	for err == nil && !w.restricted {
		var now moment
		if now, err = t.next(); err == nil {
			err = w.see(now)
		}
	}
	if err != nil {
		return fmt.Errorf("it has not restricted itself by Landlock: %w", err)
	}
	return os.NewSyscallError("ptrace", unix.PtraceDetach(pid))
}

// watched is what was seen of a process.
type watched struct {
	pid        int
	rules      *os.File
	call       moment // the last that began
	private    bool   // the call before gave it a table of descriptors of its own
	restricted bool
}

// see takes what is next.
func (w *watched) see(now moment) error {
	switch now.op {
	case unix.PTRACE_SYSCALL_INFO_ENTRY:
		w.call = now
		return w.allowed()
	case unix.PTRACE_SYSCALL_INFO_EXIT:
		return w.done(now.failed())
	}
	return nil // a signal
}

// allowed checks a call that begins.
func (w *watched) allowed() error {
	switch number := w.call.number(); number {
	case unix.SYS_READ, unix.SYS_RESTART_SYSCALL, unix.SYS_CLOSE_RANGE:
		return nil
	case unix.SYS_LANDLOCK_RESTRICT_SELF:
		return w.restricts()
	default:
		return fmt.Errorf("it makes the call %d", number)
	}
}

// restricts checks a call of landlock_restrict_self(2).
func (w *watched) restricts() error {
	const noLog = 1
	if fd, flags := w.call.argument(0), w.call.argument(1); fd != rulesFD || flags&^noLog != 0 {
		return fmt.Errorf("with descriptor %d and flags %#x", fd, flags)
	}
	if !w.private {
		return errors.New("others may have its descriptors")
	}
	return errors.Join(sameFile(w.pid, rulesFD, w.rules), w.alone())
}

// alone checks that it has one thread: another would not be restricted, and could become the process (execve(2)).
func (w *watched) alone() error {
	status, err := readStatus(w.pid)
	if err == nil && status["Threads"] != "1" {
		err = fmt.Errorf("it has %s threads", status["Threads"])
	}
	return err
}

// done takes the result of the call.
func (w *watched) done(failed bool) error {
	number := w.call.number()
	w.private = number == unix.SYS_CLOSE_RANGE && w.call.argument(2) == unix.CLOSE_RANGE_UNSHARE && !failed
	w.restricted = number == unix.SYS_LANDLOCK_RESTRICT_SELF && !failed
	if number == unix.SYS_LANDLOCK_RESTRICT_SELF && failed {
		return errors.New("the kernel has refused it")
	}
	return nil
}

// sameFile checks that a descriptor of a process is the open file (kcmp(2)).
func sameFile(pid, fd int, file *os.File) error {
	const openFile = 0
	result, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(os.Getpid()), openFile, uintptr(fd), file.Fd(), 0)
	if errno != 0 {
		return fmt.Errorf("kcmp: %w", errno)
	}
	if result != 0 {
		return errors.New("by other rules")
	}
	return nil
}
