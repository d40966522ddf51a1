package spec

import (
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// withNamespaces gives the container new ones of every kind but time. The network namespace is empty:
// it has loopback and no way out.
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

// withHiddenPaths hides what runc's own example spec hides of /proc, and what tells the machine's devices, drivers and swap, and
// how its kernel was compiled and started, which no library reads; where a path does not exist the runtime passes over it. All of /proc is read-only: beside the host's settings that also keeps an
// analysis from lowering its oom_score_adj. What is lost is little: a thread can name itself
// (prctl(2)), and no other thread.
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

// withSysctl lets no user namespace be made inside, which would give back capabilities over new
// mounts and networks, and leaves the caller's own inotify instances and watches to the caller. runc 1.1
// refuses these sysctls; there seccomp alone stands before user namespaces.
func withSysctl(_ Analysis, place Placement, s *specs.Spec) error {
	if !place.Portable {
		s.Linux.Sysctl = map[string]string{
			"user.max_user_namespaces": "0", "user.max_inotify_instances": "16", "user.max_inotify_watches": "8192",
		}
	}
	return nil
}
