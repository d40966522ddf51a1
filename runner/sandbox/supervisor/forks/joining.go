package forks

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/audit"
)

// joining says which process of a template may join the namespaces of a container (setns(2)): one for each fork that is ordered, all
// namespaces of that container at once. It must have ended before the fork is proved, so that nothing but the child is in them.
type joining struct {
	mu     sync.Mutex
	init   int      // of the container; 0: there is no order
	middle *os.File // a pidfd of the process that has joined
}

// everyNamespace are the flags of fork.c.
const everyNamespace = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
	unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// allow lets one process join the container of an init.
func (j *joining) allow(init int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.init = init
}

// forbid ends that, and returns the process that has joined; nil: none.
func (j *joining) forbid() *os.File {
	j.mu.Lock()
	defer j.mu.Unlock()
	middle := j.middle
	j.init, j.middle = 0, nil
	return middle
}

// allowed reports whether the call may go on. Analyses, which are in PID namespaces of their own, never may.
func (j *joining) allowed(call audit.Setns) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.init == 0 || j.middle != nil || call.Flags != everyNamespace || !beside(call.PID) || !isPidfd(call, j.init) {
		return false
	}
	fd, err := unix.PidfdOpen(call.PID, 0)
	if err != nil {
		return false
	}
	j.middle = os.NewFile(uintptr(fd), "pidfd")
	return true
}

// beside reports whether a process is in this PID namespace.
func beside(pid int) bool {
	its, err := namespaceOf(pid, "pid")
	own, failed := namespaceOf(os.Getpid(), "pid")
	return errors.Join(err, failed) == nil && its == own
}

// isPidfd reports whether the descriptor of a call is one of a process. Another process that shares its descriptors could change
// that afterwards: then the proof fails.
func isPidfd(call audit.Setns, pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", call.PID, call.FD))
	return err == nil && strings.Contains(string(text), "\nPid:\t"+strconv.Itoa(pid)+"\n")
}

// awaitEnd waits until the process that has joined is dead.
func awaitEnd(middle *os.File, longest time.Duration) error {
	if middle == nil {
		return errors.New("no process has joined the container")
	}
	defer middle.Close()
	if ready, err := pollFor(int(middle.Fd()), longest); !ready {
		return errors.Join(errors.New("the process that has joined the container has not ended"), err)
	}
	return nil
}

// pollFor waits until something can be read.
func pollFor(fd int, longest time.Duration) (ready bool, err error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for until := time.Now().Add(longest); ; {
		n, err := unix.Poll(fds, max(int(time.Until(until).Milliseconds()), 0))
		if !errors.Is(err, unix.EINTR) {
			return n > 0, err
		}
	}
}
