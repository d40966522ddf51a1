package audit

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Listener is the socket that libcontainer sends a container's notification descriptor to
// (runtime-spec, "seccomp": listenerPath).
type Listener struct{ sock *net.UnixListener }

// Listen makes the socket.
func Listen(path string) (*Listener, error) {
	sock, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return &Listener{sock}, nil
}

// Close removes the socket.
func (l *Listener) Close() error { return l.sock.Close() }

// received bounds the wait for a descriptor that was sent before anybody asked.
const received = 10 * time.Second

// Take returns the descriptor of a container that has been created.
func (l *Listener) Take() (*os.File, error) {
	if err := l.sock.SetDeadline(time.Now().Add(received)); err != nil {
		return nil, err
	}
	c, err := l.sock.AcceptUnix()
	if err != nil {
		return nil, fmt.Errorf("audit: no notification descriptor: %w", err)
	}
	defer c.Close()
	state, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(state, oob)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errors.New("audit: no notification descriptor was sent"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(errors.New("audit: no notification descriptor was sent"), err)
	}
	unix.CloseOnExec(fds[0])
	return os.NewFile(uintptr(fds[0]), "seccomp notifications"), nil
}
