package audit

import (
	"errors"
	"fmt"
	"os"
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

// Watch answers the notifications of one container.
type Watch struct {
	fd        *os.File
	namespace string
	asked     bool      // whether loopback was opened, or could not be
	loopback  *loopback // nil: nobody can be asked
	ledger    ledger
	pace      pace
	done      chan struct{}
	err       error
}

// Start answers notifications from fd until every process under its filter is dead. namespace is a file
// of their network namespace, as /proc/PID/ns/net.
func Start(fd *os.File, namespace string) *Watch {
	w := &Watch{fd: fd, namespace: namespace, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		err := w.serve()
		w.err = errors.Join(w.err, err, fd.Close(), w.loopback.Close())
	}()
	return w
}

// Wait returns what was seen, when every process is dead. An error means that it may not be all.
func (w *Watch) Wait() ([]Event, error) {
	<-w.done
	return w.ledger.all(time.Now()), w.err
}

func (w *Watch) serve() error {
	// The asker wakes up on the processor that has answered (Linux 6.6): faster, and nothing is lost without.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, w.fd.Fd(), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	for {
		polled := []unix.PollFd{{Fd: int32(w.fd.Fd()), Events: unix.POLLIN}}
		_, err := unix.Poll(polled, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("poll: %w", err)
		case polled[0].Revents&unix.POLLIN != 0:
			if err := w.next(); err != nil {
				return err
			}
		default: // POLLHUP: nobody is left under the filter
			return nil
		}
	}
}

// next answers one notification. One whose process has gone, or was interrupted, is none.
func (w *Watch) next() error {
	var n notification // the kernel wants it zero
	if err := ioctl(w.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
		return passing("receive", err)
	}
	time.Sleep(w.pace.next(time.Now()))
	a := w.judge(&n)
	if a.kind != "" {
		w.ledger.note(time.Now().UTC(), a.kind, trimmed(a.address), a.severity)
	}
	r := response{id: n.id, errno: -int32(a.errno)}
	if a.errno == 0 {
		r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	return passing("answer", ioctl(w.fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)))
}

func passing(what string, err error) error {
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// judge reads what the call names. A process id may have become another's while its files were read, so
// nothing is said of a notification that is no longer valid (seccomp_unotify(2)).
func (w *Watch) judge(n *notification) answer {
	a := goOn
	switch n.call {
	case unix.SYS_SOCKET, unix.SYS_SOCKETPAIR:
		return judgeFamily(n.args[0])
	case unix.SYS_CONNECT:
		a = judgeCall(w.process(n), n.args[1], n.args[2])
	case unix.SYS_SENDTO:
		a = judgeCall(w.process(n), n.args[4], n.args[5])
	}
	if ioctl(w.fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)) != nil {
		return goOn
	}
	return a
}

func (w *Watch) process(n *notification) process {
	return process{pid: int(n.pid), socket: int(int32(uint32(n.args[0]))), loopback: w.askLoopback}
}

// askLoopback opens what most runs never need.
func (w *Watch) askLoopback() *loopback {
	if w.asked {
		return w.loopback
	}
	w.asked = true
	var err error
	if w.loopback, err = openLoopback(w.namespace); err != nil {
		w.err = fmt.Errorf("connections to loopback are not seen: %w", err)
	}
	return w.loopback
}

func judgeCall(p process, pointer, size uint64) answer {
	a, ok := parseAddress(p.read(pointer, size&0xffffffff)) // the kernel takes an int
	if !ok {
		return goOn
	}
	return judgeAddress(a, p)
}

func ioctl(f *os.File, request uintptr, argument unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(argument))
	if errno != 0 {
		return errno
	}
	return nil
}
