package container

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Exit is how a container ended.
type Exit struct {
	// Executed is true once the command's execve succeeded.
	Executed bool
	// Errno is why execve was refused; 0 where it was not or where that is not known.
	Errno syscall.Errno
	// Ended is true where Status is known: the analysis itself exited or was killed. It is false where
	// the whole container was killed first.
	Ended  bool
	Status syscall.WaitStatus
	// CPU is user and system time of the container's processes that were waited for, its start included.
	CPU time.Duration
	// MemoryPeak is the greatest resident set of one process of the analysis, in bytes (getrusage(2)); 0
	// where the whole container was killed first.
	MemoryPeak int64
}

// Watch is told what happens in a container; each is called once at most.
type Watch struct {
	// Audited gets the descriptor of the notifications that Config.Audit asked for (seccomp_unotify(2)), before
	// the command begins, and owns it.
	Audited func(notifications *os.File)
	// Executed is called when the command's execve has succeeded.
	Executed func()
	// Left is called when the analysis has ended and processes of it are left, which stand still until it returns and are killed
	// then; nil: nobody looks at them.
	Left func()
}

// Wait blocks until every process of the container is dead: its PID 1 is reaped only after the kernel
// has killed the rest of the namespace (pid_namespaces(7)).
func (c *Container) Wait(watch Watch) (Exit, error) {
	var exit Exit
	var refused error
	for {
		r, err := c.reports.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			refused = errors.Join(err, c.Signal(syscall.SIGKILL)) // it may have more to say, and nobody would hear it
			break
		}
		c.steps.hear(r)
		switch r.kind {
		case reportAudited:
			watch.Audited(r.file)
		case reportUnheard:
			refused = fmt.Errorf("the kernel does not ask about calls (seccomp user notification): %w; use --audit off", syscall.Errno(r.value))
		case reportOpen:
			refused = fmt.Errorf("the kernel does not take the filter of system calls: %w", syscall.Errno(r.value))
		case reportExecuted:
			exit.Executed = true
			watch.Executed()
		case reportLeft:
			if watch.Left != nil {
				watch.Left()
			}
			c.reports.answer()
		default:
			exit.note(r)
		}
	}
	// The error of a process that did not exit with 0 says nothing that the reports do not say.
	state, err := c.process.Wait()
	c.steps.end()
	if state == nil {
		return exit, errors.Join(refused, err)
	}
	exit.CPU = max(exit.CPU, state.UserTime()+state.SystemTime())
	return exit, refused
}

func (e *Exit) note(r report) {
	switch r.kind {
	case reportRefused:
		e.Errno = syscall.Errno(r.value)
	case reportEnded:
		e.Ended = true
		e.Status = syscall.WaitStatus(r.value)
	case reportMaxRSS:
		e.MemoryPeak = int64(r.value) << 10
	case reportCPU:
		e.CPU = time.Duration(r.value) * time.Millisecond
	}
}
