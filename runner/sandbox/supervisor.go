package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/container"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/rootmount"
)

// Main takes over the process if Launch started it as a supervisor, and then does not return. Call it first in main, and
// in TestMain of every test that launches one.
func Main() {
	if protocol.Invoked() {
		exit(supervise())
	}
}

// manyRunsGC is the GOGC of a supervisor that many runs share: it has little live data, and 12 MiB for all of them save
// much of the collector's time.
const manyRunsGC = 300

func exit(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

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
	if err := settle(tracer); err != nil {
		return errors.Join(err, c.Send(protocol.Message{Type: protocol.MsgFailed, Error: err.Error()}))
	}
	if err := c.Send(protocol.Message{Type: protocol.MsgReady}); err != nil {
		return err
	}
	var many sync.Once
	return (&worker{conn: c, trace: tracer}).serve(func(m protocol.Message) error {
		many.Do(func() { debug.SetGCPercent(manyRunsGC) })
		return admit(m)
	})
}

// settle sets up the outer namespaces.
func settle(tracer *trace.Tracer) error {
	defer tracer.Span(trace.Supervisor, "settle")()
	if err := dropGroups(); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	unix.Umask(0o022) // the analysis reads what is made for it; anything else has an explicit mode
	steps := []struct {
		what string
		do   func() error
	}{
		{"make mounts private", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"mount /proc", mountProc},
		{"make control groups read-only", protectCgroups},
		{"mount the staging area", rootmount.MountStage},
		{"set the host name", func() error { return unix.Sethostname([]byte("scidex")) }}, // runs do: an early error is explained
		{"bring up loopback", loopbackUp},
	}
	for _, step := range steps {
		if err := tracer.Do(trace.Supervisor, step.what, step.do); err != nil {
			return fmt.Errorf("outer namespaces: %s: %w%s", step.what, err, containerHint(step.what, err))
		}
	}
	return nil
}

func mountProc() error {
	return unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// containerHint adds a hint if this is a container.
func containerHint(what string, err error) string {
	remedy := remedies.Container
	switch {
	case what == "mount /proc":
		remedy = remedies.Proc
	case !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES):
		return ""
	}
	remedy = remedies.InContainer("/", remedy)
	return fmt.Sprintf(" (%s: %s)", remedy.Sentence, remedy.Command)
}

// dropGroups clears the launcher's supplementary groups. With a single-id mapping it cannot (setgroups is denied), which
// the launcher reports.
func dropGroups() error {
	if remedies.Setting("/proc/self/setgroups") == "deny" {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("drop supplementary groups: %w", err)
	}
	return nil
}

// protectCgroups makes every control group read-only here: the launcher owns them.
func protectCgroups() error {
	err := unix.MountSetattr(unix.AT_FDCWD, "/sys/fs/cgroup", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) { // not mounted
		return nil
	}
	return err
}

// loopbackUp brings up the only network interface (netdevice(7)).
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(request))); errno != 0 {
		return errno
	}
	return nil
}
