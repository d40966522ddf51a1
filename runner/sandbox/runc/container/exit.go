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
	// Executed says that the command's execve succeeded.
	Executed bool
	// Errno is why execve failed; 0 if it did not or that is unknown.
	Errno syscall.Errno
	// Ended says that Status is known: the analysis itself exited or was killed. It is false if the whole container was
	// killed first.
	Ended  bool
	Status syscall.WaitStatus
	// CPU is user and system time of the container's reaped processes, including its start.
	CPU time.Duration
	// MemoryPeak is the greatest resident set of one process of the analysis, in bytes (getrusage(2)); 0 if the whole
	// container was killed first.
	MemoryPeak int64
}

// Watch receives a container's events; each is called at most once.
type Watch struct {
	// Audited receives the notification descriptor for Config.Audit (seccomp_unotify(2)) before the command starts, and
	// owns it.
	Audited func(notifications *os.File)
	// Ruled receives the version of Landlock (landlock(7)) that the analysis is held by, 0 if the kernel has none, before the command
	// starts.
	Ruled func(version int)
	// Executed is called once the command's execve succeeded.
	Executed func()
	// Left is called when the analysis has ended and left processes, which are stopped until it returns and then killed;
	// may be nil.
	Left func()
}

// Wait blocks until every process of the container is dead: its PID 1 is reaped only after the kernel has killed the rest
// of the namespace (pid_namespaces(7)).
func (c *Container) Wait(watch Watch) (Exit, error) {
	var exit Exit
	var refused error
	for {
		r, err := c.reports.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			refused = errors.Join(err, c.Signal(syscall.SIGKILL)) // its further reports would not be read
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
		case reportUnruled:
			refused = fmt.Errorf("the kernel has Landlock and does not take the rules of the analysis: %w", syscall.Errno(r.value))
		case reportRuled:
			watch.Ruled(int(r.value))
		case reportExecuted:
			exit.Executed = true
			watch.Executed()
		case reportLeft:
			if watch.Left != nil {
				watch.Left()
			}
			c.reports.answer(answerPass)
		default:
			exit.note(r)
		}
	}
	// The reports already say why a process exits with another status than 0.
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
