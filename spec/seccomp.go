package spec

import (
	"runtime"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// forbidden are removed from the base profile, so that a newer base cannot add them. They fail with EPERM.
var forbidden = [...]string{
	// Large kernel interfaces with a history of holes, not needed by analyses.
	"io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd",
	"add_key", "keyctl", "request_key", "modify_ldt", "memfd_secret",
	// Its contexts are limited for the whole machine (/proc/sys/fs/aio-max-nr).
	"io_setup",
	// Mounts and namespaces.
	"mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "open_tree_attr", "fsopen",
	"fsconfig", "fsmount", "fspick", "pivot_root", "setns", "unshare",
	// Reading and steering other processes, including the init.
	"ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd",
	// It passes the arguments of socket(2) in memory, where no filter sees them.
	"socketcall",
}

func withSeccomp(_ Analysis, place Placement, s *specs.Spec) (err error) {
	if !place.Unfiltered {
		s.Linux.Seccomp, err = Filter(runtime.GOARCH, place.Audit)
	}
	return err
}

// Filter is the seccomp filter of every analysis on an architecture (GOARCH): moby's default, restricted further. With
// audit it is also for an init that installs its own filter: see Placement.Audit.
func Filter(arch string, audit bool) (*specs.LinuxSeccomp, error) {
	profile, err := base(arch)
	if err != nil {
		return nil, err
	}
	refused := refuse(eafnosupport)
	if audit {
		refused = specs.LinuxSyscall{Action: specs.ActTrace}
	}
	narrower := slices.Concat(socketRules(refused), optionRules(), setIDRules(), ownLimitsRules(), spareInitRules(), hugePageRules(), unsupportedRules())
	replaced := slices.Clone(forbidden[:])
	for _, rule := range narrower {
		replaced = append(replaced, rule.Names...)
	}
	profile.Syscalls = append(without(profile.Syscalls, replaced), narrower...)
	return profile, nil
}

// without removes the named system calls from all rules, and rules that become empty.
func without(rules []specs.LinuxSyscall, names []string) []specs.LinuxSyscall {
	var kept []specs.LinuxSyscall
	for _, rule := range rules {
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool {
			return slices.Contains(names, name)
		})
		if len(rule.Names) > 0 {
			kept = append(kept, rule)
		}
	}
	return kept
}
