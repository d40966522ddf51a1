package container

import (
	"encoding/binary"
	"errors"
	"io"
	"syscall"
	"time"
)

// The kinds of struct report in initc/src/init.c.
const (
	reportExecuted = 1
	reportRefused  = 2
	reportEnded    = 3
	reportMaxRSS   = 4
	reportCPU      = 5
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

// Wait blocks until every process of the container is dead: its PID 1 is reaped only after the kernel
// has killed the rest of the namespace (pid_namespaces(7)). executed is called once, when the
// command's execve has succeeded.
func (c *Container) Wait(executed func()) (Exit, error) {
	var exit Exit
	for {
		kind, value, err := readReport(c.reports)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return exit, err
		}
		exit.note(kind, value)
		if kind == reportExecuted {
			executed()
		}
	}
	// The error of a process that did not exit with 0 says nothing that the reports do not say.
	state, err := c.process.Wait()
	if state == nil {
		return exit, err
	}
	exit.CPU = max(exit.CPU, state.UserTime()+state.SystemTime())
	return exit, nil
}

func (e *Exit) note(kind uint32, value int32) {
	switch kind {
	case reportExecuted:
		e.Executed = true
	case reportRefused:
		e.Errno = syscall.Errno(value)
	case reportEnded:
		e.Ended = true
		e.Status = syscall.WaitStatus(value)
	case reportMaxRSS:
		e.MemoryPeak = int64(value) << 10
	case reportCPU:
		e.CPU = time.Duration(value) * time.Millisecond
	}
}

func readReport(r io.Reader) (kind uint32, value int32, err error) {
	var raw [8]byte
	if _, err := io.ReadFull(r, raw[:]); err != nil {
		return 0, 0, err
	}
	return binary.NativeEndian.Uint32(raw[:4]), int32(binary.NativeEndian.Uint32(raw[4:])), nil
}
