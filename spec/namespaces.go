package spec

import (
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// withNamespaces gives the container new namespaces of every kind but time. The network namespace has only loopback.
func withNamespaces(_ Analysis, _ Placement, s *specs.Spec) error {
	for _, kind := range []specs.LinuxNamespaceType{
		specs.UserNamespace, specs.PIDNamespace, specs.MountNamespace, specs.IPCNamespace,
		specs.UTSNamespace, specs.CgroupNamespace, specs.NetworkNamespace,
	} {
		s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: kind})
	}
	return nil
}

func withIDMappings(_ Analysis, place Placement, s *specs.Spec) error {
	s.Linux.UIDMappings = slices.Clone(place.UIDMappings)
	s.Linux.GIDMappings = slices.Clone(place.GIDMappings)
	return nil
}

// withHiddenPaths hides what runc's example spec hides of /proc, and the machine's devices, drivers and swap, and its
// kernel's build and boot options, which no library reads; a runtime skips missing paths. All of /proc is read-only: this
// protects the host's settings and keeps an analysis from lowering its oom_score_adj. Little is lost: a thread can name
// itself (prctl(2)), but no other thread.
func withHiddenPaths(_ Analysis, _ Placement, s *specs.Spec) error {
	s.Linux.MaskedPaths = []string{
		"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
		"/proc/timer_stats", "/proc/sched_debug", "/sys/firmware", "/proc/scsi",
		"/proc/cmdline", "/proc/interrupts", "/proc/iomem", "/proc/ioports", "/proc/irq", "/proc/partitions",
		"/proc/schedstat", "/proc/softirqs",
		"/proc/bus", "/proc/config.gz", "/proc/consoles", "/proc/crypto", "/proc/devices", "/proc/dma", "/proc/driver", "/proc/fs",
		"/proc/mdstat", "/proc/misc", "/proc/swaps", "/proc/tty",
	}
	s.Linux.ReadonlyPaths = []string{"/proc"}
	return nil
}

// withSysctl forbids user namespaces inside, which would give back capabilities over new mounts and networks, and
// reserves the caller's inotify instances and watches for the caller. runc 1.1 refuses these sysctls; there only seccomp
// prevents user namespaces.
func withSysctl(_ Analysis, place Placement, s *specs.Spec) error {
	if !place.Portable {
		s.Linux.Sysctl = map[string]string{
			"user.max_user_namespaces": "0", "user.max_inotify_instances": "16", "user.max_inotify_watches": "8192",
		}
	}
	return nil
}
