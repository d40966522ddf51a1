package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// manager is the systemd instance that manages a user's units: the system's for root, the user's for others
// (https://www.freedesktop.org/wiki/Software/systemd/dbus).
type manager struct{ uid int }

func (m manager) String() string {
	if m.uid == 0 {
		return "systemd"
	}
	return "systemd's user manager"
}

// managerWait is the timeout of one request: far more than a busy host needs.
const managerWait = 30 * time.Second

// errNoManager is the error if nothing listens. It continues the manager's name.
var errNoManager = errors.New("is not running")

// errElsewhere is the error of a manager that does not share our process ids: that of the host around a container.
var errElsewhere = errors.New("it is in another PID namespace")

// socket is a manager's socket, direct or of a D-Bus daemon.
type socket struct {
	path   string
	daemon bool
}

// sockets lists them in the order to try. DBUS_SESSION_BUS_ADDRESS is ignored: it may name any bus, or start one.
func (m manager) sockets() []socket {
	if m.uid == 0 {
		return []socket{{"/run/systemd/private", false}, {"/run/dbus/system_bus_socket", true}}
	}
	dirs := []string{fmt.Sprintf("/run/user/%d", m.uid)}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && filepath.Clean(dir) != dirs[0] {
		dirs = slices.Insert(dirs, 0, dir)
	}
	var all []socket
	for _, dir := range dirs {
		all = append(all, socket{dir + "/bus", true}, socket{dir + "/systemd/private", false})
	}
	return all
}

// connect connects to the first socket that answers; the connection ends with ctx. The error is that of the first
// existing one.
func connect(ctx context.Context, sockets []socket) (*systemd.Conn, error) {
	failure := errNoManager
	for _, s := range sockets {
		conn, err := systemd.NewConnection(func() (*dbus.Conn, error) { return s.dial(ctx) })
		if err == nil {
			return conn, nil
		}
		there := !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ECONNREFUSED)
		if there && errors.Is(failure, errNoManager) {
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
		return errElsewhere
	}
	return nil
}

// delegates reports whether the manager delegates a unit's group (Delegate=).
func (m manager) delegates(ctx context.Context, unit string) bool {
	ctx, cancel := context.WithTimeout(ctx, managerWait)
	defer cancel()
	kind := map[string]string{".scope": "Scope", ".service": "Service"}[filepath.Ext(unit)]
	if kind == "" {
		return false
	}
	conn, err := connect(ctx, m.sockets())
	if err != nil {
		return false
	}
	defer conn.Close()
	property, err := conn.GetUnitTypePropertyContext(ctx, unit, kind, "Delegate")
	if err != nil {
		return false
	}
	yes, ok := property.Value.Value().(bool)
	return ok && yes
}
