package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Remedy is how a host can allow what it refused: one sentence, without a full stop, and one command.
type Remedy struct{ Sentence, Command string }

// Remedies for common host settings.
var (
	// AppArmorRemedy lifts Ubuntu's restriction since 23.10.
	AppArmorRemedy = Remedy{"AppArmor restricts user namespaces, which root can lift for all programs, or by a profile with userns for this one", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"}
	// SwitchedOffRemedy lifts namespaces(7), max_user_namespaces.
	SwitchedOffRemedy = Remedy{"user namespaces are switched off, which root can change", "sysctl user.max_user_namespaces=15000"}
	// UsedUpRemedy raises the same limit if not 0.
	UsedUpRemedy = Remedy{"there are as many user namespaces as the host allows, which root can change", "sysctl user.max_user_namespaces=15000"}
	// UnprivilegedRemedy sets a switch of Debian's and Arch's kernels.
	UnprivilegedRemedy = Remedy{"unprivileged user namespaces are switched off, which root can change", "sysctl kernel.unprivileged_userns_clone=1"}
	// ContainerRemedy is for a launcher in a container whose seccomp filter or AppArmor profile forbids namespaces.
	ContainerRemedy = Remedy{
		"inside a container, that must be started with more rights",
		"docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined IMAGE",
	}
	// ProcRemedy is for a launcher in a container that masks parts of /proc, which forbids a fresh one
	// (mount_namespaces(7), SB_I_USERNS_VISIBLE in the kernel).
	ProcRemedy = Remedy{
		"inside a container, that must be started with all of /proc",
		"docker run --security-opt systempaths=unconfined IMAGE (podman: --security-opt unmask=ALL)",
	}
	// PodmanRemedy is for both, in a podman container.
	PodmanRemedy = Remedy{
		"the podman container must be started with all of /proc and without podman's seccomp filter",
		"podman run --security-opt unmask=ALL --security-opt seccomp=unconfined IMAGE",
	}
	// ProcessesRemedy is for RLIMIT_NPROC.
	ProcessesRemedy = Remedy{"the caller has as many processes as its limit allows", "ulimit -u unlimited"}
	// ExecutableRemedy is for root's supervisor, whose id has no rights.
	ExecutableRemedy = Remedy{"the program must be executable by everyone when root starts it", "chmod a+rx"}
)

// InContainer returns PodmanRemedy if the container with its root at dir ("/") is podman's, which leaves a file there
// (podman-run(1)), and otherwise the other.
func InContainer(dir string, otherwise Remedy) Remedy {
	if _, err := os.Stat(filepath.Join(dir, "run/.containerenv")); err != nil {
		return otherwise
	}
	return PodmanRemedy
}

// NamespaceRemedy explains why a host refuses new namespaces, from the settings below proc ("/proc"). It returns false if
// it finds no reason.
func NamespaceRemedy(proc string, err error) (Remedy, bool) {
	switch {
	case setting(filepath.Join(proc, "sys/user/max_user_namespaces")) == "0":
		return SwitchedOffRemedy, true
	case errors.Is(err, unix.EAGAIN):
		return ProcessesRemedy, true
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
		return UsedUpRemedy, true
	case setting(filepath.Join(proc, "sys/kernel/apparmor_restrict_unprivileged_userns")) == "1":
		return AppArmorRemedy, true
	case setting(filepath.Join(proc, "sys/kernel/unprivileged_userns_clone")) == "0":
		return UnprivilegedRemedy, true
	case errors.Is(err, unix.EPERM):
		return InContainer(filepath.Dir(proc), ContainerRemedy), true
	case errors.Is(err, unix.EACCES):
		return ExecutableRemedy, true
	}
	return Remedy{}, false
}

// launchError explains why a host refuses user namespaces, with the command that allows them.
func launchError(err error) error {
	hint := ""
	if remedy, ok := NamespaceRemedy("/proc", err); ok {
		hint = fmt.Sprintf("; %s: %s", remedy.Sentence, remedy.Command)
	}
	return fmt.Errorf("start the supervisor in new namespaces: %w%s", err, hint)
}

func setting(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
