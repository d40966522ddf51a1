// Package spawn starts a process in new namespaces without copying the caller's memory. For a new user namespace Go copies the
// page tables, and the kernel then every page that the caller writes. That is wasted: the new process executes another program
// at once (docs/adr/0019).
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

// Child is a cloned process that waits until its ids are mapped and it may execute.
type Child struct {
	Process *os.Process

	gate   *os.File
	shared *C.struct_spawn
}

// Clone starts a process in new namespaces (CLONE_NEW*), with files as its descriptors 0, 1, 2... and no others. The
// process waits; only Execute makes it execute. It dies with the thread that called Clone (PR_SET_PDEATHSIG(2const)),
// which must only wait until Execute has returned: they share errno. It keeps the caller's CPU set, and a niceness that
// the caller may not lower.
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
	process, _ := os.FindProcess(pid) // never fails; it is a child of this process, so its pid is not reused until it is reaped
	child := &Child{Process: process, gate: gate, shared: shared}
	if err := makeOrdinary(pid); err != nil {
		return nil, errors.Join(err, child.discard())
	}
	return child, nil
}

// discard ends a process that Clone does not return; Clone frees the shared memory.
func (c *Child) discard() error {
	err := errors.Join(unix.Shutdown(int(c.gate.Fd()), unix.SHUT_WR), c.await(), c.gate.Close())
	_, waited := c.Process.Wait()
	return errors.Join(err, waited)
}

// aside copies a descriptor above the first n, which the child overwrites.
func aside(fd, n int) (int, error) {
	fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, n)
	return fd, os.NewSyscallError("fcntl", err)
}

// start clones the process, and returns the caller's end of its gate. ForkLock keeps copies of both ends from processes
// started meanwhile: they might wait long themselves, and hide that caller or child has ended. A process cloned later has
// a copy of the caller's end only: when the caller ends, the last one notices, and then all others.
func start(s *C.struct_spawn, namespaces uintptr) (gate *os.File, pid int, err error) {
	syscall.ForkLock.Lock() // also for code that opens a file and sets close-on-exec later
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

// Execute executes a program, without an environment and in "/"; with root, as root of the child's user namespace,
// without other groups. It returns why that failed, but not that the child was killed. Call it, or Close, once.
func (c *Child) Execute(path string, args []string, root bool) error {
	s := c.shared
	s.path, s.args = C.CString(path), (**C.char)(C.calloc(C.size_t(len(args)+1), C.size_t(unsafe.Sizeof(s.path))))
	for i, into := 0, unsafe.Slice(s.args, len(args)); i < len(args); i++ {
		into[i] = C.CString(args[i])
	}
	if root {
		s.root = 1
		// A change of ids makes the shared memory not dumpable (prctl(2)); the child leaves that with its own memory, and
		// we do not. One at a time: it must last until the child has its own, and then be restored.
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

// Close ends a process that was not executed.
func (c *Child) Close() error {
	err := unix.Shutdown(int(c.gate.Fd()), unix.SHUT_WR)
	return errors.Join(err, c.await(), c.release())
}

// await returns when the process has executed or ended: both close its end of the gate.
func (c *Child) await() error {
	_, err := io.Copy(io.Discard, c.gate)
	return err
}

// release frees the shared memory, which is no longer used.
func (c *Child) release() error {
	C.spawn_free(c.shared)
	return c.gate.Close()
}

// keepDumpable returns a function that restores the dumpable flag, if now set.
func keepDumpable() (restore func()) {
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || dumpable != 1 {
		return func() {}
	}
	return func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) } // its only error is an invalid number
}
