package spec

import (
	"fmt"
	"slices"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// architectures with a filter, by GOARCH, as in moby.
var architectures = map[string]specs.Arch{
	"amd64":   specs.ArchX86_64,
	"arm64":   specs.ArchAARCH64,
	"riscv64": specs.ArchRISCV64,
}

// base is moby's default for processes without capabilities. seccomp.GetDefaultProfile returns it only for the current
// architecture and kernel; filters are compiled on other machines. Rules for minimum kernels apply always: there is
// one, of ptrace and the like, which are forbidden here anyway. So the result depends only on the architecture.
//
// It contains only that architecture, which is stricter: calls of another (int 0x80, x32) kill the thread.
func base(arch string) (*specs.LinuxSeccomp, error) {
	name, known := architectures[arch]
	if !known {
		return nil, fmt.Errorf("seccomp: there is no profile for %s", arch)
	}
	all := seccomp.DefaultProfile()
	profile := all.LinuxSeccomp
	profile.Architectures = []specs.Arch{name}
	for _, rule := range all.Syscalls {
		if included(rule.Includes, arch) && !excluded(rule.Excludes, arch) {
			profile.Syscalls = append(profile.Syscalls, rule.LinuxSyscall)
		}
	}
	return &profile, nil
}

func included(only *seccomp.Filter, arch string) bool {
	return only == nil || len(only.Caps) == 0 && (len(only.Arches) == 0 || slices.Contains(only.Arches, arch))
}

func excluded(but *seccomp.Filter, arch string) bool {
	return but != nil && (but.MinKernel != nil || slices.Contains(but.Arches, arch))
}
