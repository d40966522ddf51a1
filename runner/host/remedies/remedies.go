// Package remedies says how a host can allow the namespaces that it refused.
package remedies

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
	// AppArmor lifts Ubuntu's restriction since 23.10.
	AppArmor = Remedy{"AppArmor restricts user namespaces, which root can lift for all programs, or by a profile with userns for this one", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"}
	// SwitchedOff lifts namespaces(7), max_user_namespaces.
	SwitchedOff = Remedy{"user namespaces are switched off, which root can change", "sysctl user.max_user_namespaces=15000"}
	// UsedUp raises the same limit if not 0.
	UsedUp = Remedy{"there are as many user namespaces as the host allows, which root can change", "sysctl user.max_user_namespaces=15000"}
	// Unprivileged sets a switch of Debian's and Arch's kernels.
	Unprivileged = Remedy{"unprivileged user namespaces are switched off, which root can change", "sysctl kernel.unprivileged_userns_clone=1"}
	// Container is for a launcher in a container whose seccomp filter or AppArmor profile forbids namespaces.
	Container = Remedy{
		"inside a container, that must be started with more rights",
		"docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined IMAGE",
	}
	// Proc is for a launcher in a container that masks parts of /proc, which forbids a fresh one
	// (mount_namespaces(7), SB_I_USERNS_VISIBLE in the kernel).
	Proc = Remedy{
		"inside a container, that must be started with all of /proc",
		"docker run --security-opt systempaths=unconfined IMAGE (podman: --security-opt unmask=ALL)",
	}
	// Podman is for both, in a podman container.
	Podman = Remedy{
		"the podman container must be started with all of /proc and without podman's seccomp filter",
		"podman run --security-opt unmask=ALL --security-opt seccomp=unconfined IMAGE",
	}
	// Processes is for RLIMIT_NPROC.
	Processes = Remedy{"the caller has as many processes as its limit allows", "ulimit -u unlimited"}
	// Executable is for root's supervisor, whose id has no rights.
	Executable = Remedy{"the program must be executable by everyone when root starts it", "chmod a+rx"}
)

// InContainer returns Podman if the container with its root at dir ("/") is podman's, which leaves a file there
// (podman-run(1)), and otherwise the other.
func InContainer(dir string, otherwise Remedy) Remedy {
	if _, err := os.Stat(filepath.Join(dir, "run/.containerenv")); err != nil {
		return otherwise
	}
	return Podman
}

// Namespaces explains why a host refuses new namespaces, from the settings below proc ("/proc"). It returns false if
// it finds no reason.
func Namespaces(proc string, err error) (Remedy, bool) {
	switch {
	case Setting(filepath.Join(proc, "sys/user/max_user_namespaces")) == "0":
		return SwitchedOff, true
	case errors.Is(err, unix.EAGAIN):
		return Processes, true
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
		return UsedUp, true
	case Setting(filepath.Join(proc, "sys/kernel/apparmor_restrict_unprivileged_userns")) == "1":
		return AppArmor, true
	case Setting(filepath.Join(proc, "sys/kernel/unprivileged_userns_clone")) == "0":
		return Unprivileged, true
	case errors.Is(err, unix.EPERM):
		return InContainer(filepath.Dir(proc), Container), true
	case errors.Is(err, unix.EACCES):
		return Executable, true
	}
	return Remedy{}, false
}

// LaunchError explains why a host refuses user namespaces, with the command that allows them.
func LaunchError(err error) error {
	hint := ""
	if remedy, ok := Namespaces("/proc", err); ok {
		hint = fmt.Sprintf("; %s: %s", remedy.Sentence, remedy.Command)
	}
	return fmt.Errorf("start the supervisor in new namespaces: %w%s", err, hint)
}

// Setting returns a one-line file of /proc; empty if it cannot be read.
func Setting(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
