package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// maxCallers bounds the connections of a socket.
const maxCallers = 512

// lockName is the file below the root that the engine with a socket has locked. It names the socket.
const lockName = "engine.lock"

// lockRoot makes this process the root's only engine with a socket until the file is closed. The lock is one of the process (fcntl(2),
// "Advisory record locking"): a supervisor that a killed engine has just cloned has no part in it. Nothing else here may open the
// file: to close it again would drop the lock.
func lockRoot(root, socket string) (*os.File, error) {
	if err := os.MkdirAll(root, 0o700); err != nil { //nolint:forbidigo // root's own is a trusted one (stores)
		return nil, err
	}
	path := filepath.Join(root, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600) //nolint:forbidigo // as above
	if err != nil {
		return nil, err
	}
	if err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		named, _ := os.ReadFile(path) //nolint:forbidigo // it is for the message
		err = fmt.Errorf("another engine serves this root at %q; use that, or give another --root", strings.TrimSpace(string(named)))
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(socket+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// listener takes callers. Closed, it removes its socket, unless systemd made that.
type listener struct {
	*net.UnixListener
	remove func()
}

// Close may be called again.
func (l listener) Close() error {
	l.remove()
	return l.UnixListener.Close()
}

// listen makes the socket. A file that a killed engine has left is replaced.
func listen(path string) (listener, error) {
	l, err := listenAt(path)
	if err != nil {
		err = fmt.Errorf("--socket %q: %w", path, err)
	}
	return l, err
}

// maxPath bounds the path of a socket, by which callers connect (unix(7)), in bytes.
const maxPath = 107

func listenAt(path string) (l listener, err error) {
	if len(path) > maxPath {
		return l, fmt.Errorf("the path is too long for a socket (unix(7)); give one of at most %d bytes", maxPath)
	}
	dir, name, err := userdir.Parent(path)
	if err != nil {
		return l, elsewhere(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Close())
		}
	}()
	if err := removeStale(dir, name); err != nil {
		return l, err
	}
	made, err := bind(dir, path)
	if err != nil {
		return l, elsewhere(err)
	}
	handle, err := dir.Handle(name)
	if err != nil { // it was exchanged
		return l, errors.Join(err, made.Close())
	}
	remove := sync.OnceFunc(func() {
		_ = dir.Remove(name, handle) // another file may have its name by now
		handle.Close()
		dir.Close()
	})
	return listener{made, remove}, nil
}

// elsewhere is the error of making the socket, without its path; with the way out, if the directory is why.
func elsewhere(err error) error {
	var failed *os.SyscallError // of bind(2)
	if errors.As(err, &failed) {
		err = failed.Err
	}
	for _, cause := range []error{fs.ErrNotExist, fs.ErrPermission, unix.ENOTDIR, unix.EROFS} {
		if errors.Is(err, cause) {
			return fmt.Errorf("%w; give a path in a directory that exists and that you can write to", userdir.Plain(err))
		}
	}
	return userdir.Plain(err)
}

// bind makes a socket at a path, which others see as its address. With the rights of the directory's user a path that was exchanged leads
// nowhere where that user could not make one.
func bind(dir *userdir.Dir, path string) (l *net.UnixListener, err error) {
	defer unix.Umask(unix.Umask(0o177))
	err = dir.Do(func() (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if l != nil {
		l.SetUnlinkOnClose(false) // only the socket that was made is removed
	}
	return l, err
}

// removeStale removes a socket on which nothing listens.
func removeStale(dir *userdir.Dir, name string) error {
	st, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return elsewhere(err)
	case st.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return errors.New("there is something that is no socket; give another path")
	}
	old, err := dir.Handle(name)
	if err != nil {
		return err
	}
	defer old.Close()
	var c *net.UnixConn
	err = dir.Do(func() (err error) {
		c, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: inode.ProcPath(old), Net: "unix"})
		return err
	})
	if err == nil {
		err = listenerEnded(c)
		c.Close()
	}
	if err != nil && !errors.Is(err, unix.ECONNREFUSED) {
		return err
	}
	return dir.Remove(name, old)
}

// listenerEnded returns nil if the process that called listen(2) has ended. A supervisor that it has just cloned may still hold
// the socket, until its exec.
func listenerEnded(c *net.UnixConn) error {
	peer, err := peerOf(c)
	if err != nil {
		return err
	}
	listens := errors.New("another program listens there; give another path")
	if peer.Pid <= 0 {
		return listens // it is in another PID namespace
	}
	fd, err := unix.PidfdOpen(int(peer.Pid), 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ended, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) // also of a zombie
	if err == nil && ended == 0 {
		err = listens
	}
	return err
}

// activated returns the socket that systemd has passed (sd_listen_fds(3)); nil: none.
func activated(env options.Lookup) (*listener, error) {
	const first = 3
	if env.Text("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	unix.CloseOnExec(first)
	if n := env.Text("LISTEN_FDS"); n != "1" {
		return nil, fmt.Errorf("serve: systemd has passed %s sockets; give the unit one ListenStream", n)
	}
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name) // they are not for children
	}
	f := os.NewFile(first, "systemd")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("serve: the socket that systemd has passed: %w", err)
	}
	stream, ok := l.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(errors.New("serve: systemd has passed a socket of the network; give ListenStream a path"), l.Close())
	}
	return &listener{stream, func() {}}, nil
}

// socket serves the callers of a socket until a signal drains the engine.
func (s server) socket(ctx context.Context, l listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer s.HandleSignals(stop)()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var callers sync.WaitGroup
	err := s.accept(ctx, l, &callers)
	if ctx.Err() != nil {
		err = nil // it was closed here
	}
	stop()
	callers.Wait()
	s.Engine.WaitAll()
	return err
}

// accept takes callers until the listener is closed.
func (s server) accept(ctx context.Context, l listener, callers *sync.WaitGroup) error {
	slots := make(chan struct{}, maxCallers)
	for {
		c, err := l.AcceptUnix()
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			s.Stores.Host.Log.Warn("a caller has to wait", "error", err)
			time.Sleep(100 * time.Millisecond)
		case err != nil:
			return fmt.Errorf("serve: %w", err)
		default:
			s.admit(ctx, c, slots, callers)
		}
	}
}

// admit serves a caller, if it may connect and a slot is free.
func (s server) admit(ctx context.Context, c *net.UnixConn, slots chan struct{}, callers *sync.WaitGroup) {
	if err := own(c); err != nil {
		s.refuse(c, rpc.Errorf(rpc.CodeFailed, "%v", err))
		return
	}
	select {
	case slots <- struct{}{}:
		callers.Go(func() {
			defer func() { <-slots }()
			s.converse(ctx, c)
		})
	default:
		s.refuse(c, rpc.Errorf(rpc.CodeBusy, "there are %d callers; close a connection first", maxCallers))
	}
}

// converse serves one caller to its end.
func (s server) converse(ctx context.Context, c *net.UnixConn) {
	defer c.Close()
	if err := s.newPeer(ctx, rpc.NewConn(c, c)).serve(ctx); err != nil {
		s.Stores.Host.Log.Info("a caller has gone", "error", err)
	}
}

// refuse tells a caller why it is not served.
func (s server) refuse(c *net.UnixConn, why *rpc.Error) {
	s.Stores.Host.Log.Warn("a caller was refused", "error", why)
	_ = rpc.Refuse(c, nil, why) // it may have gone
	c.Close()
}

// own refuses a caller of another uid.
func own(c *net.UnixConn) error {
	peer, err := peerOf(c)
	if err == nil && int(peer.Uid) != os.Geteuid() {
		err = fmt.Errorf("this engine serves only uid %d, and the caller has uid %d", os.Geteuid(), peer.Uid)
	}
	return err
}

// peerOf is the process at the other end (SO_PEERCRED, unix(7)): that which has connected, or which listens.
func peerOf(c *net.UnixConn) (peer *unix.Ucred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return peer, errors.Join(err, failed)
}
