package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"time"

	units "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// socket leads to a systemd manager: to the manager itself, or to a D-Bus daemon that has it.
type socket struct {
	path   string
	daemon bool
}

// connect connects to the first socket that answers. The connection ends with ctx. If none answers, it returns the error of the first
// socket that exists.
func connect(ctx context.Context, sockets []socket) (*units.Conn, error) {
	failure := ErrNotRunning
	for _, s := range sockets {
		conn, err := units.NewConnection(func() (*dbus.Conn, error) { return s.dial(ctx) })
		if err == nil {
			return conn, nil
		}
		there := !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ECONNREFUSED)
		if there && errors.Is(failure, ErrNotRunning) {
			failure = fmt.Errorf("cannot be asked at %s: %w", s.path, err)
		}
	}
	return nil, failure
}

func (s socket) dial(ctx context.Context) (*dbus.Conn, error) {
	stream, err := new(net.Dialer).DialContext(ctx, "unix", s.path)
	if err != nil {
		return nil, err
	}
	conn, err := s.greet(ctx, stream.(*net.UnixConn))
	if err != nil {
		return nil, errors.Join(err, stream.Close())
	}
	return conn, nil
}

func (s socket) greet(ctx context.Context, stream *net.UnixConn) (*dbus.Conn, error) {
	if err := sameProcesses(stream); err != nil {
		return nil, err
	}
	// The libraries take no context for their own messages.
	context.AfterFunc(ctx, func() { _ = stream.SetDeadline(time.Unix(1, 0)) })
	conn, err := dbus.DialUnix(stream)
	if err == nil {
		err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))})
	}
	if err == nil && s.daemon {
		err = conn.Hello()
	}
	return conn, err
}

// sameProcesses verifies that the peer shares our process ids: the kernel reports 0 for a peer outside this PID namespace
// (unix(7), SO_PEERCRED).
func sameProcesses(stream *net.UnixConn) error {
	raw, err := stream.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("ask who listens: %w", err)
	}
	if peer.Pid == 0 {
		return ErrElsewhere
	}
	return nil
}
