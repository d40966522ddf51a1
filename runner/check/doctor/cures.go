package doctor

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// starved reports whether an error is that of a process that could not have one more process or thread: the kernel's,
// or in the words of libcontainer's or Go's runtime in a child.
func starved(text string) bool {
	for _, words := range []string{unix.EAGAIN.Error(), "Resource temporarily unavailable", "failed to create new OS thread", "RLIMIT_NPROC"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// What helps where a trial has failed.

func cureNamespace(err error) sandbox.Remedy {
	if remedy, ok := sandbox.NamespaceRemedy("/proc", err); ok {
		return remedy
	}
	return cureKernel(err)
}

// cureMaps is for ids that cannot be mapped: by us, or by newuidmap, which says why.
func cureMaps(err error) sandbox.Remedy {
	if strings.Contains(err.Error(), "newuidmap") || strings.Contains(err.Error(), "newgidmap") {
		return sandbox.Remedy{
			Sentence: "newuidmap and newgidmap must be those of the package uidmap, with their privileges, and the ranges in /etc/subuid and /etc/subgid the caller's own",
			Command:  "apt-get install --reinstall uidmap",
		}
	}
	return cureNamespace(err)
}

// cureMount is for mounts that AppArmor or a container's profile refuses where namespaces are allowed.
func cureMount(err error) sandbox.Remedy {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return cureNamespace(err)
	}
	return cureKernel(err)
}

func cureProc(err error) sandbox.Remedy {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return sandbox.ProcRemedy
	}
	return cureKernel(err)
}

func cureBind(err error) sandbox.Remedy {
	if errors.Is(err, unix.ENOSYS) {
		return sandbox.Remedy{Sentence: "the kernel must have mount_setattr (Linux 5.12), and a container's seccomp profile must let it through", Command: sandbox.ContainerRemedy.Command}
	}
	return cureMount(err)
}

func cureOverlay(err error) sandbox.Remedy {
	if errors.Is(err, unix.ENODEV) {
		return sandbox.Remedy{Sentence: "the overlay file system must be loaded", Command: "modprobe overlay"}
	}
	return cureMount(err)
}

func cureNotify(error) sandbox.Remedy {
	return sandbox.Remedy{Sentence: "the kernel must have seccomp user notification (Linux 5.5), or runs do without the audit", Command: "scidex-oci run --audit off COMMAND"}
}

// cureKernel is for what every kernel has that runs were ever tried on.
func cureKernel(error) sandbox.Remedy {
	return sandbox.Remedy{Sentence: "the kernel, or the seccomp profile of a container around this, must allow it", Command: sandbox.ContainerRemedy.Command}
}
