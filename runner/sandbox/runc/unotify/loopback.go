package unotify

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// loopback finds listeners in a run's network namespace (sock_diag(7)). /proc/net/tcp would scan the tables of the whole
// machine.
type loopback struct{ netlink int }

// openLoopback opens a namespace file such as /proc/PID/ns/net.
func openLoopback(namespace string) (*loopback, error) {
	f, err := os.Open(namespace)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	type opened struct {
		l   *loopback
		err error
	}
	done := make(chan opened)
	go func() {
		// Not unlocked, so the thread ends with this goroutine: it stays in the other namespace.
		runtime.LockOSThread()
		l, err := enter(f)
		done <- opened{l, err}
	}()
	o := <-done
	return o.l, o.err
}

func enter(namespace *os.File) (*loopback, error) {
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("setns: %w", err)
	}
	return here()
}

// here queries the calling thread's network namespace, and verifies the kernel's answers: without its modules it would
// report no listeners.
func here() (*loopback, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("sock_diag: %w", err)
	}
	l := &loopback{fd}
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
		if err := l.prove(kind); err != nil {
			return nil, errors.Join(fmt.Errorf("sock_diag: %w", err), l.Close())
		}
	}
	return l, nil
}

// prove finds a socket that exists.
func (l *loopback) prove(kind int) error {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if kind == unix.SOCK_STREAM {
		if err := unix.Listen(fd, 1); err != nil {
			return err
		}
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(bound.(*unix.SockaddrInet4).Port))
	if !l.listens(at) {
		return errors.New("it does not say who listens")
	}
	return nil
}

// Closing one that could not be opened does nothing.
func (l *loopback) Close() error {
	if l == nil {
		return nil
	}
	return unix.Close(l.netlink)
}

// listens reports whether a TCP socket listens at the address or a UDP socket is bound to it, or to the unspecified
// address. Without an answer it returns true: connect(2) then decides.
func (l *loopback) listens(at netip.AddrPort) bool {
	if at.Addr().IsUnspecified() { // connect(2) takes it as loopback
		local := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if at.Addr().Is6() {
			local = netip.IPv6Loopback()
		}
		at = netip.AddrPortFrom(local, at.Port())
	}
	for _, protocol := range []uint8{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
		found, err := l.look(protocol, at)
		if found || err != nil {
			return true
		}
	}
	return false
}

// linux/sock_diag.h and linux/inet_diag.h.
const (
	sockDiagByFamily = 20
	requestSize      = 16 + 56 // struct nlmsghdr, struct inet_diag_req_v2
)

// look queries one socket.
func (l *loopback) look(protocol uint8, at netip.AddrPort) (bool, error) {
	if err := unix.Sendto(l.netlink, question(protocol, at), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return false, err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(l.netlink, answer, 0)
	if err != nil {
		return false, err
	}
	return understand(answer[:n])
}

func question(protocol uint8, at netip.AddrPort) []byte {
	family, address := uint8(unix.AF_INET), at.Addr().AsSlice()
	if at.Addr().Is6() {
		family = unix.AF_INET6
	}
	raw := make([]byte, requestSize)
	host := binary.NativeEndian
	host.PutUint32(raw, requestSize)
	host.PutUint16(raw[4:], sockDiagByFamily)
	host.PutUint16(raw[6:], unix.NLM_F_REQUEST)
	raw[16], raw[17] = family, protocol
	host.PutUint32(raw[20:], 0xffffffff) // all states
	// The socket's own address; the peer's stays 0. For UDP the kernel swaps the two ("swapped for historical reasons",
	// net/ipv4/udp_diag.c).
	port, ip := raw[24:], raw[28:]
	if protocol == unix.IPPROTO_UDP {
		port, ip = raw[26:], raw[44:]
	}
	binary.BigEndian.PutUint16(port, at.Port())
	copy(ip, address)
	host.PutUint32(raw[64:], 0xffffffff) // INET_DIAG_NOCOOKIE
	host.PutUint32(raw[68:], 0xffffffff)
	return raw
}

// understand parses the answer: a socket, or an error, ENOENT if there is none (netlink(7)).
func understand(raw []byte) (bool, error) {
	if len(raw) < 20 {
		return false, errors.New("sock_diag: short answer")
	}
	switch binary.NativeEndian.Uint16(raw[4:]) {
	case sockDiagByFamily:
		return true, nil
	case unix.NLMSG_ERROR:
		if errno := unix.Errno(-int32(binary.NativeEndian.Uint32(raw[16:]))); errno != unix.ENOENT {
			return false, fmt.Errorf("sock_diag: %w", errno)
		}
		return false, nil
	}
	return false, errors.New("sock_diag: strange answer")
}
