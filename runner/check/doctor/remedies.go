package doctor

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
)

// outOfProcesses reports whether an error says that a process or thread could not be created: an error of the kernel, of
// libcontainer or of Go's runtime in a child.
func outOfProcesses(text string) bool {
	for _, words := range []string{unix.EAGAIN.Error(), "Resource temporarily unavailable", "failed to create new OS thread", "RLIMIT_NPROC"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// remedyNamespace and the functions below return what helps where a probe has failed.
func remedyNamespace(err error) remedies.Remedy {
	if remedy, ok := remedies.Namespaces("/proc", err); ok {
		return remedy
	}
	return remedyKernel(err)
}

// remedyMaps is for ids that this process or newuidmap cannot map. newuidmap says why.
func remedyMaps(err error) remedies.Remedy {
	if strings.Contains(err.Error(), "newuidmap") || strings.Contains(err.Error(), "newgidmap") {
		return remedies.Remedy{
			Sentence: "newuidmap and newgidmap must be those of the package uidmap, with their privileges, and the ranges in /etc/subuid and /etc/subgid the caller's own",
			Command:  "apt-get install --reinstall uidmap",
		}
	}
	return remedyNamespace(err)
}

// remedyMount is for mounts that AppArmor or a container's profile refuses although it allows namespaces.
func remedyMount(err error) remedies.Remedy {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return remedyNamespace(err)
	}
	return remedyKernel(err)
}

func remedyProc(err error) remedies.Remedy {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return remedies.Proc
	}
	return remedyKernel(err)
}

func remedyBind(err error) remedies.Remedy {
	if errors.Is(err, unix.ENOSYS) {
		return remedies.Remedy{Sentence: "the kernel must have mount_setattr (Linux 5.12), and a container's seccomp profile must let it through", Command: remedies.Container.Command}
	}
	return remedyMount(err)
}

func remedyOverlay(err error) remedies.Remedy {
	if errors.Is(err, unix.ENODEV) {
		return remedies.Remedy{Sentence: "the overlay file system must be loaded", Command: "modprobe overlay"}
	}
	return remedyMount(err)
}

func remedyNotify(error) remedies.Remedy {
	return remedies.Remedy{Sentence: "the kernel must have seccomp user notification (Linux 5.5), or runs do without the audit", Command: "scidex-oci run --audit off COMMAND"}
}

// remedyKernel is for what every supported kernel has.
func remedyKernel(error) remedies.Remedy {
	return remedies.Remedy{Sentence: "the kernel, or the seccomp profile of a container around this, must allow it", Command: remedies.Container.Command}
}
