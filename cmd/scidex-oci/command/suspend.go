package command

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HandleSuspend makes SIGTSTP (Ctrl-Z) stop the analysis, then this process, and SIGCONT resume both, until done is called.
func HandleSuspend(analysis suspendable) (done func()) {
	if ignored(unix.SIGTSTP) {
		return func() {} // ignored by a shell without job control; os/signal does not tell
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGTSTP, unix.SIGCONT)
	finished, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-signals:
				if s == unix.SIGCONT {
					analysis.Resume()
					continue
				}
				analysis.Suspend(func() {
					if len(signals) == 0 { // else it may have been continued meanwhile
						suspendSelf()
					}
				})
			case <-finished:
				return
			}
		}
	}()
	return func() { signal.Stop(signals); close(finished); <-ended }
}

// suspendSelf stops this process as SIGTSTP does by default: not if its process group is orphaned, since nothing would
// continue it (setpgid(2)). Such a process waits for SIGCONT, and still receives the signals that end it. Package signal
// cannot restore the default action.
func suspendSelf() {
	var byDefault, before sigaction
	if action(unix.SIGTSTP, &byDefault, &before) != nil {
		return
	}
	// Sent to this thread: it does not go on before it was stopped and continued.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTSTP)
	_ = action(unix.SIGTSTP, &before, nil)
}

func ignored(s syscall.Signal) bool {
	var now sigaction
	return action(s, nil, &now) == nil && now.handler == sigIgnore
}

// sigIgnore is SIG_IGN (sigaction(2)).
const sigIgnore = 1

// sigaction is the kernel's struct on every architecture that has sa_restorer, and longer than that of the others. The zero
// value's action is the default.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

func action(s syscall.Signal, set, old *sigaction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), unsafe.Sizeof(set.mask), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// suspendable is what Ctrl-Z stops: one analysis, or all of a batch.
type suspendable interface {
	Suspend(then func())
	Resume()
}
