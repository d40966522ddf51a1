package spec

import (
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// TestBase: for this architecture it is what moby itself makes, without the additional architectures.
func TestBase(t *testing.T) {
	want, err := seccomp.GetDefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}})
	if err != nil {
		t.Fatal(err)
	}
	want.Architectures = want.Architectures[:1]
	if got, err := base(runtime.GOARCH); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v (%v)\nwant %+v", got, err, want)
	}
}

// TestBaseOfAnother checks what differs between architectures.
func TestBaseOfAnother(t *testing.T) {
	for arch, test := range map[string]struct {
		native           specs.Arch
		allowed, unknown string
	}{
		"amd64":   {specs.ArchX86_64, "arch_prctl", "arm_fadvise64_64"},
		"arm64":   {specs.ArchAARCH64, "arm_fadvise64_64", "arch_prctl"},
		"riscv64": {specs.ArchRISCV64, "riscv_flush_icache", "arch_prctl"},
	} {
		profile, err := base(arch)
		if err != nil {
			t.Fatal(err)
		}
		names := func(name string) bool {
			return slices.ContainsFunc(profile.Syscalls, func(rule specs.LinuxSyscall) bool { return slices.Contains(rule.Names, name) })
		}
		if !names(test.allowed) || names(test.unknown) || !slices.Equal(profile.Architectures, []specs.Arch{test.native}) {
			t.Errorf("%s: %v, %s: %t, %s: %t", arch, profile.Architectures, test.allowed, names(test.allowed), test.unknown, names(test.unknown))
		}
	}
	if _, err := base("vax"); err == nil {
		t.Error("vax has a profile")
	}
}

// TestBaseDependsOnNoKernel: a rule of moby with a minimum kernel applies on every kernel, so it may only be about forbidden calls.
func TestBaseDependsOnNoKernel(t *testing.T) {
	for _, rule := range seccomp.DefaultProfile().Syscalls {
		for _, condition := range []*seccomp.Filter{rule.Includes, rule.Excludes} {
			if condition != nil && condition.MinKernel != nil && len(without([]specs.LinuxSyscall{rule.LinuxSyscall}, forbidden[:])) > 0 {
				t.Errorf("%v asks for a kernel, %s", rule.Names, condition.MinKernel)
			}
		}
	}
}
