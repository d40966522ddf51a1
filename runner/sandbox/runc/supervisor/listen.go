package supervisor

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// listen returns a socket that listens on a port of 127.0.0.1 in the network namespace of a process. It is made on a thread that enters
// that namespace, and ends with it: the namespaces of a thread that other goroutines use are not to change.
func listen(pid int, port uint16) (socket *os.File, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // without unlocking, the thread ends with the goroutine
		if err = enterNetwork(pid); err == nil {
			socket, err = listenHere(port)
		}
	}()
	<-done
	if err != nil {
		return nil, fmt.Errorf("listen in the network namespace of the run: %w", err)
	}
	return socket, nil
}

func enterNetwork(pid int) error {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	defer namespace.Close()
	return os.NewSyscallError("setns", unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET))
}

func listenHere(port uint16) (*os.File, error) {
	address := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port))
	l, err := net.ListenTCP("tcp4", address)
	if err != nil {
		return nil, err
	}
	defer l.Close() // File is a copy
	return l.File()
}
