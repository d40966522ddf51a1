// Package supervisor is the supervisor's process: PID 1 of the outer namespaces, which serves one run per connection. Only
// it joins container and harvest.
package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/container"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// Main takes over the process if runc.Launch started it as a supervisor, and then does not return. Call it first in main, and
// in TestMain of every test that launches one.
func Main() {
	if protocol.Invoked() {
		exit(supervise())
	}
}

// manyRunsGC is the GOGC of a supervisor that many runs share: it has little live data, and 12 MiB for all of them save
// much of the collector's time.
const manyRunsGC = 300

func connect() (*protocol.Conn, error) {
	fd, err := unix.FcntlInt(protocol.SocketFD, unix.F_DUPFD_CLOEXEC, protocol.SocketFD+1)
	if err != nil {
		return nil, fmt.Errorf("%s is not to be started by hand: %w", os.Args[0], err)
	}
	unix.CloseOnExec(protocol.SocketFD)
	return protocol.NewConn(os.NewFile(uintptr(fd), "launcher"))
}

// supervise is PID 1 of the outer namespaces. When the launcher ends, so does the connection, then this process and
// everything below it.
func supervise() error {
	// The parent-death signal is per thread; the execve that gained capabilities cleared the one set by the launcher.
	tracer := protocol.Tracer()
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("arm the parent-death signal: %w", err)
	}
	c, err := connect()
	if err != nil {
		return err
	}
	container.Silence()
	// For libcontainer's init, which inherits it and is slower with more.
	if err := os.Setenv("GOMAXPROCS", "1"); err != nil {
		return err
	}
	// Signals to a whole control group (systemctl stop) or from a terminal are the launcher's to handle. Caught, not
	// ignored: that would be inherited.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP)
	if err := setUp(tracer); err != nil {
		return errors.Join(err, c.Send(protocol.Message{Type: protocol.MsgFailed, Error: err.Error()}))
	}
	if err := c.Send(protocol.Message{Type: protocol.MsgReady}); err != nil {
		return err
	}
	var many sync.Once
	return newSession(c, tracer).serve(func(m protocol.Message) error {
		many.Do(func() { debug.SetGCPercent(manyRunsGC) })
		return admit(m)
	})
}
