package audit

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif of linux/seccomp.h.
type notification struct {
	id    uint64
	pid   uint32 // as the receiver's PID namespace has it
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

// ErrLost is returned where a watch ended before the processes that it watched.
var ErrLost = errors.New("the audit ended before the analysis")

// Watch answers the notifications of one container.
type Watch struct {
	fd     *os.File
	ledger ledger
	pace   pace
	done   chan struct{}
	err    error // that it may not be all
	lost   error // that nobody has answered any more

	loopback *loopback // nil: not asked yet, or nobody can be asked
}

// Start answers notifications from fd until every process under its filter is dead. Where it cannot go on
// before, it calls lost, which has to kill them: fd stays open until Wait, since with it the kernel's bar
// to another listener would fall, and one of the analysis' own could let sockets of any family be made
// (seccomp(2), EBUSY of SECCOMP_FILTER_FLAG_NEW_LISTENER).
func Start(fd *os.File, lost func()) *Watch {
	w := &Watch{fd: fd, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		// One thread, whose processor time is what the analysis costs here.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := w.serve(); err != nil {
			w.lost = fmt.Errorf("%w: %w", ErrLost, err)
			lost()
		}
	}()
	return w
}

// Wait is called when every process is dead, once, and returns what was seen. An error means that it may not
// be all; ErrLost, that the watch ended before.
func (w *Watch) Wait() ([]Event, error) {
	<-w.done
	err := errors.Join(w.lost, w.err, w.fd.Close(), w.loopback.Close())
	return w.ledger.all(time.Now()), err
}

func (w *Watch) serve() error {
	// The asker wakes up on the processor that has answered (Linux 6.6): faster, and nothing is lost without.
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
		case ready&unix.POLLHUP != 0: // nobody is left under the filter
			return nil
		case ready != 0:
			return fmt.Errorf("poll: events %#x", ready)
		}
	}
}

// poll waits for the events, or the hang-up, for so long; -1 is for good.
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

// next answers one notification. One whose process has gone, or was interrupted, is none.
func (w *Watch) next() error {
	var n notification // the kernel wants it zero
	if err := ioctl(w.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
		return passing("receive", err)
	}
	// Now, since the asker can no longer be interrupted.
	if rest := w.pace.rest(time.Now(), processorTime()); rest > 0 {
		_, _ = w.poll(0, rest) // or until nobody is left
	}
	tried := w.judge(&n)
	r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if refused(n.call) {
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

// refused are the calls that are asked about only where they make a socket of a family that nobody gets.
func refused(call int32) bool { return call == unix.SYS_SOCKET || call == unix.SYS_SOCKETPAIR }

func passing(what string, err error) error {
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// judge reads what the call names. A process id may have become another's while its files were read, so
// nothing is said of a notification that is no longer valid (seccomp_unotify(2)).
func (w *Watch) judge(n *notification) attempt {
	var tried attempt
	switch {
	case refused(n.call):
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

// askLoopback opens what most runs never need: the network namespace of a process, which is that of all.
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
	if err != nil { // as where ptrace is closed to everybody (Yama)
		return attempt{kind: Connect, address: "unreadable: " + err.Error(), severity: Medium, allowed: true}
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
