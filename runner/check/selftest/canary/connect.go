package canary

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

func connectTCP(address string) error {
	c, err := net.DialTimeout("tcp", address, Timeout)
	if err != nil {
		return err
	}
	return c.Close()
}

// connectSocket connects to a unix socket of any kind. "@" starts the name of an abstract one.
func connectSocket(path string) (err error) {
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET, unix.SOCK_DGRAM} {
		if err = connectKind(path, kind); !errors.Is(err, unix.EPROTOTYPE) {
			return err
		}
	}
	return err
}

func connectKind(path string, kind int) error {
	// Non-blocking, since a server may not accept: a full queue returns EAGAIN.
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

// lookUp resolves a name by the resolver of the system.
func lookUp(name string) error {
	_, err := net.LookupHost(name)
	return err
}
