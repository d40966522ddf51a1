package supervisor

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/rootmount"
)

// setUp sets up the outer namespaces.
func setUp(tracer *trace.Tracer) error {
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
