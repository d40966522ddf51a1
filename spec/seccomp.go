package spec

import (
	"runtime"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// forbidden are taken out of the base profile whether or not it has them, so that a newer base cannot
// bring them back. They fail with EPERM.
var forbidden = [...]string{
	// Large kernel interfaces with a history of holes, and of no use to an analysis.
	"io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd",
	"add_key", "keyctl", "request_key", "modify_ldt", "memfd_secret",
	// The whole machine has one supply of its contexts (/proc/sys/fs/aio-max-nr).
	"io_setup",
	// Mounts and namespaces.
	"mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "open_tree_attr", "fsopen",
	"fsconfig", "fsmount", "fspick", "pivot_root", "setns", "unshare",
	// Reading and steering other processes, our init among them.
	"ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd",
	// It reaches socket(2) with its arguments in memory, where no filter sees them.
	"socketcall",
}

func withSeccomp(_ Analysis, place Placement, s *specs.Spec) (err error) {
	if !place.Unfiltered {
		s.Linux.Seccomp, err = Filter(runtime.GOARCH, place.Audit)
	}
	return err
}

// Filter is the filter of system calls that every analysis has on an architecture (GOARCH): the default of moby narrowed
// to what one needs. With audit it is for an init that installs a filter of its own, too: see Placement.Audit.
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

// without removes the named system calls from all rules, and rules that are left with none.
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
