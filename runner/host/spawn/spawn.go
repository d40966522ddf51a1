// Package spawn starts a process in namespaces of its own without copying the caller's memory. Go copies it, where a user
// namespace is among them: page tables, and every page that the caller writes to afterwards, for a process that executes
// something else at once (docs/adr/0024).
package spawn

/*
#include <stdlib.h>
#include "spawn.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Child is a process that was cloned and waits until it may execute: until its ids are mapped.
type Child struct {
	Process *os.Process

	gate   *os.File
	shared *C.struct_spawn
}

// Clone starts a process in new namespaces (CLONE_NEW*), with files as its descriptors 0, 1, 2... and no others, whatever the
// caller has open. It waits;
// Execute, and nothing else, ends with it having executed. It dies with the thread that called Clone
// (PR_SET_PDEATHSIG(2const)), which must do nothing else, but wait, until Execute has returned: they share errno. Of how the
// caller is scheduled it keeps the set of CPUs, and a niceness that the caller may not lower.
func Clone(namespaces uintptr, files ...*os.File) (_ *Child, err error) {
	if len(files) > C.SPAWN_FILES {
		return nil, fmt.Errorf("clone: %d files", len(files))
	}
	shared := (*C.struct_spawn)(C.calloc(1, C.sizeof_struct_spawn))
	shared.n = C.int(len(files))
	defer func() {
		if err != nil {
			C.spawn_free(shared)
		}
	}()
	for i, file := range files {
		fd, err := aside(int(file.Fd()), len(files))
		if err != nil {
			return nil, err
		}
		defer unix.Close(fd)
		shared.files[i] = C.int(fd)
	}
	gate, pid, err := start(shared, namespaces)
	if err != nil {
		return nil, err
	}
	process, _ := os.FindProcess(pid) // always one; it is ours, and so its number nobody else's until it is waited for
	child := &Child{Process: process, gate: gate, shared: shared}
	if err := makeOrdinary(pid); err != nil {
		return nil, errors.Join(err, child.discard())
	}
	return child, nil
}

// discard ends a process that Clone does not return, and leaves what they share to Clone.
func (c *Child) discard() error {
	err := errors.Join(unix.Shutdown(int(c.gate.Fd()), unix.SHUT_WR), c.await(), c.gate.Close())
	_, waited := c.Process.Wait()
	return errors.Join(err, waited)
}

// aside copies a descriptor out of the way of the first n, which the child puts others into.
func aside(fd, n int) (int, error) {
	fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, n)
	return fd, os.NewSyscallError("fcntl", err)
}

// start clones the process, and returns the caller's end of its gate. Of that and of what the process has no other process
// that starts meanwhile gets a copy, which might wait for long itself, and by which the end of either would not be heard: one
// that is cloned later has a copy of this end alone, and so the last of them hears of the end of the caller, and all others then.
func start(s *C.struct_spawn, namespaces uintptr) (gate *os.File, pid int, err error) {
	syscall.ForkLock.Lock() // also for whoever opens what it cannot at once mark as close-on-exec
	defer syscall.ForkLock.Unlock()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, 0, os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(ends[1])
	theirs, err := aside(ends[1], int(s.n))
	if err != nil {
		return nil, 0, errors.Join(err, unix.Close(ends[0]))
	}
	defer unix.Close(theirs)
	s.caller, s.gate = C.int(ends[0]), C.int(theirs)
	if pid = int(C.spawn_clone(s, C.ulong(namespaces))); pid < 0 {
		return nil, 0, errors.Join(os.NewSyscallError("clone", syscall.Errno(-pid)), unix.Close(ends[0]))
	}
	return os.NewFile(uintptr(ends[0]), "gate"), pid, nil
}

var becomingRoot sync.Mutex

// Execute lets it execute a program, without an environment and in "/"; with root it becomes root of its user namespace
// before that, in no other group. What keeps it from that is returned, but not that it was killed. Call it, or Close, once.
func (c *Child) Execute(path string, args []string, root bool) error {
	s := c.shared
	s.path, s.args = C.CString(path), (**C.char)(C.calloc(C.size_t(len(args)+1), C.size_t(unsafe.Sizeof(s.path))))
	for i, into := 0, unsafe.Slice(s.args, len(args)); i < len(args); i++ {
		into[i] = C.CString(args[i])
	}
	if root {
		s.root = 1
		// Other ids make what it shares with us not dumpable (prctl(2)); with its own memory it is rid of that, and we are not.
		// One at a time: it must be so until the last of them has its own, and again as it was afterwards.
		becomingRoot.Lock()
		defer becomingRoot.Unlock()
		defer keepDumpable()()
	}
	_, err := c.gate.Write([]byte{1})
	if unheard := c.await(); err == nil {
		err = unheard
	}
	if s.error != 0 {
		err = &os.PathError{Op: C.GoString(s.step), Path: path, Err: syscall.Errno(s.error)}
	}
	return errors.Join(err, c.release())
}

// Close ends a process that was not told to execute.
func (c *Child) Close() error {
	err := unix.Shutdown(int(c.gate.Fd()), unix.SHUT_WR)
	return errors.Join(err, c.await(), c.release())
}

// await returns when the process has executed or ended: it closes its end of the gate with either.
func (c *Child) await() error {
	_, err := io.Copy(io.Discard, c.gate)
	return err
}

// release frees what was shared: nobody else uses it any more.
func (c *Child) release() error {
	C.spawn_free(c.shared)
	return c.gate.Close()
}

// keepDumpable returns what makes this process dumpable again, where it is so now.
func keepDumpable() (restore func()) {
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || dumpable != 1 {
		return func() {}
	}
	return func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) } // it knows no other error than another number
}
