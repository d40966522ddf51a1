// Package unotify records what an analysis tries to reach and may not, through seccomp user notification
// (seccomp_unotify(2)): the kernel asks before connect(2), sendto(2) with an address, and sockets of families that are
// not allowed.
//
// It only records. Every call continues and the kernel decides, in an empty network namespace and on read-only overlays,
// so that an analysis sees the same with and without an audit, and selftest sees any hole. A thread can change the
// address between the check and the call, but reaches no more. Only families are refused here, since the call would make
// the socket. Without an answer the kernel returns ENOSYS; if a watch fails, its analysis is killed.
package unotify

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/audit"
)

// notification is struct seccomp_notif of linux/seccomp.h.
type notification struct {
	id    uint64
	pid   uint32 // in the receiver's PID namespace
	flags uint32
	call  int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32 // negative
	flags uint32
}

// ErrLost is returned if a watch ended before the watched processes.
var ErrLost = errors.New("the audit ended before the analysis")

// Watch answers the notifications of one container.
type Watch struct {
	fd   *os.File
	pace pace
	done chan struct{}
	lost error // why the watch ended early

	ledger   ledger
	err      error     // events may be missing
	loopback *loopback // nil: not opened yet, or not possible
}

// Start answers notifications from fd until every process under its filter is dead. If it fails before, it calls lost,
// which must kill them. fd stays open until Wait: without it the kernel would allow another listener, and one of the
// analysis' own could permit sockets of any family (seccomp(2), EBUSY of SECCOMP_FILTER_FLAG_NEW_LISTENER).
func Start(fd *os.File, lost func()) *Watch {
	w := &Watch{fd: fd, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		// One thread, whose CPU time is the analysis' cost here.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := w.serve(); err != nil {
			w.lost = fmt.Errorf("%w: %w", ErrLost, err)
			lost()
		}
	}()
	return w
}

// Wait returns the events; call it once, when every process is dead. An error means that they may be incomplete; ErrLost,
// that the watch ended early.
func (w *Watch) Wait() ([]audit.Event, error) {
	<-w.done
	err := errors.Join(w.lost, w.err, w.fd.Close(), w.loopback.Close())
	return w.ledger.all(time.Now()), err
}

func (w *Watch) serve() error {
	// The caller wakes up on the CPU that answered (Linux 6.6): faster, but not required.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, w.fd.Fd(), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	for {
		ready, err := w.poll(unix.POLLIN, -1)
		switch {
		case err != nil:
			return fmt.Errorf("poll: %w", err)
		case ready&unix.POLLIN != 0:
			if err := w.next(); err != nil {
				return err
			}
		case ready&unix.POLLHUP != 0: // no process has the filter
			return nil
		case ready != 0:
			return fmt.Errorf("poll: events %#x", ready)
		}
	}
}

// poll waits for the events or the hang-up, with a timeout; -1 is none.
func (w *Watch) poll(events int16, wait time.Duration) (ready int16, err error) {
	fds := []unix.PollFd{{Fd: int32(w.fd.Fd()), Events: events}}
	timeout := -1
	if wait >= 0 {
		timeout = int(wait.Milliseconds())
	}
	if _, err = unix.Poll(fds, timeout); errors.Is(err, unix.EINTR) {
		err = nil
	}
	return fds[0].Revents, err
}

// next answers one notification, unless its process has ended or was interrupted.
func (w *Watch) next() error {
	var n notification // must be zero
	if err := ioctl(w.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
		return passing("receive", err)
	}
	// Now, as the caller can no longer be interrupted.
	if rest := w.pace.rest(time.Now(), processorTime()); rest > 0 {
		_, _ = w.poll(0, rest) // or until all have ended
	}
	tried := w.judge(&n)
	r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if makesSocket(n.call) {
		r = response{id: n.id, errno: -int32(unix.EAFNOSUPPORT)}
	}
	if err := ioctl(w.fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); err != nil {
		return passing("answer", err)
	}
	if tried.kind != "" {
		w.ledger.note(time.Now().UTC(), tried)
	}
	return nil
}

// makesSocket calls are notified only if the socket's family is forbidden.
func makesSocket(call int32) bool { return call == unix.SYS_SOCKET || call == unix.SYS_SOCKETPAIR }

func passing(what string, err error) error {
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// judge reads the call's arguments. The pid may have been reused while its files were read, so a notification that is no
// longer valid is discarded (seccomp_unotify(2)).
func (w *Watch) judge(n *notification) attempt {
	var tried attempt
	switch {
	case makesSocket(n.call):
		return judgeFamily(n.args[0])
	case n.call == unix.SYS_CONNECT:
		tried = judgeCall(w.process(n), n.args[1], n.args[2], false)
	case n.call == unix.SYS_SENDTO:
		tried = judgeCall(w.process(n), n.args[4], n.args[5], true)
	}
	if ioctl(w.fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)) != nil {
		return attempt{}
	}
	return tried
}

func (w *Watch) process(n *notification) process {
	return process{pid: int(n.pid), socket: int(int32(uint32(n.args[0]))), loopback: w.askLoopback}
}

// askLoopback opens the network namespace, which all processes share, on first use: most runs never do.
func (w *Watch) askLoopback(pid int) *loopback {
	if w.loopback != nil {
		return w.loopback
	}
	w.loopback, w.err = openLoopback(fmt.Sprintf("/proc/%d/ns/net", pid))
	if w.err != nil { // the next may live longer
		w.err = fmt.Errorf("connections to loopback are not seen: %w", w.err)
	}
	return w.loopback
}

func judgeCall(p process, pointer, size uint64, send bool) attempt {
	n := int32(uint32(size)) // the kernel takes an int
	if pointer == 0 || n <= 0 || n > maxAddress {
		return attempt{}
	}
	raw, err := p.read(pointer, int(n))
	if err != nil { // as with Yama's ptrace_scope 3
		return attempt{kind: audit.Connect, address: "unreadable: " + err.Error(), severity: audit.Medium, allowed: true}
	}
	a, ok := parseAddress(raw, send)
	if !ok {
		return attempt{}
	}
	return judge(a, send, p)
}

func ioctl(f *os.File, request uintptr, argument unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(argument))
	if errno != 0 {
		return errno
	}
	return nil
}
