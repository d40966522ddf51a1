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
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// socketFD is where the launcher leaves the supervisor's end of the connection.
const socketFD = 3

// Main takes over the process where Launch started it as a supervisor; it does not return then. Call it
// first in main, and in TestMain of every test that launches one.
func Main() {
	if os.Args[0] == supervisorName {
		exit(supervise())
	}
}

// manyRunsGC is GOGC of a supervisor that many runs share: it has little that lives, and 12 MiB for all of them save much of
// what the collector takes.
const manyRunsGC = 300

func exit(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func connect() (*conn, error) {
	fd, err := unix.FcntlInt(socketFD, unix.F_DUPFD_CLOEXEC, socketFD+1)
	if err != nil {
		return nil, fmt.Errorf("%s is not to be started by hand: %w", os.Args[0], err)
	}
	unix.CloseOnExec(socketFD)
	return newConn(os.NewFile(uintptr(fd), "launcher"))
}

// supervise is PID 1 of the outer namespaces. The end of the connection is the end of the launcher, and
// then of this process and everything below it.
func supervise() error {
	// The parent-death signal is this thread's; the execve that gained capabilities cleared the one that
	// the launcher had set.
	tracer := newTracer()
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("arm the parent-death signal: %w", err)
	}
	c, err := connect()
	if err != nil {
		return err
	}
	container.Silence()
	// For libcontainer's init, which has no use for more and takes longer with them; libcontainer passes it on.
	if err := os.Setenv("GOMAXPROCS", "1"); err != nil {
		return err
	}
	// What ends a whole control group (systemctl stop) or comes from a terminal is the launcher's to handle. Caught and not ignored:
	// that would be inherited.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP)
	if err := settle(tracer); err != nil {
		return errors.Join(err, c.send(message{Type: msgFailed, Error: err.Error()}))
	}
	if err := c.send(message{Type: msgReady}); err != nil {
		return err
	}
	var many sync.Once
	return (&worker{conn: c, trace: tracer}).serve(func(m message) error {
		many.Do(func() { debug.SetGCPercent(manyRunsGC) })
		return admit(m)
	})
}

// settle makes the outer namespaces habitable.
func settle(tracer *trace.Tracer) error {
	defer tracer.Span(trace.Supervisor, "settle")()
	if err := dropGroups(); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	unix.Umask(0o022) // what is made for an analysis is for it to read; what is not has a mode that says so
	steps := []struct {
		what string
		do   func() error
	}{
		{"make mounts private", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"mount /proc", mountProc},
		{"make control groups read-only", protectCgroups},
		{"mount the staging area", mountStage},
		{"set the host name", func() error { return unix.Sethostname([]byte("scidex")) }}, // runs do: refused early it is explained
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

// containerHint helps where we are in a container ourselves.
func containerHint(what string, err error) string {
	remedy := ContainerRemedy
	switch {
	case what == "mount /proc":
		remedy = ProcRemedy
	case !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES):
		return ""
	}
	remedy = InContainer("/", remedy)
	return fmt.Sprintf(" (%s: %s)", remedy.Sentence, remedy.Command)
}

// dropGroups clears the launcher's supplementary groups; a single-id mapping cannot (setgroups is
// denied there), which the launcher knows and says.
func dropGroups() error {
	if setting("/proc/self/setgroups") == "deny" {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("drop supplementary groups: %w", err)
	}
	return nil
}

// protectCgroups makes every control group read-only here: they are the launcher's.
func protectCgroups() error {
	err := unix.MountSetattr(unix.AT_FDCWD, "/sys/fs/cgroup", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) { // nothing mounted there
		return nil
	}
	return err
}

// loopbackUp brings up the only network interface there is (netdevice(7)).
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
