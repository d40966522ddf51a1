package filter

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// architecture is one whose calls the filter lets through at all.
type architecture struct {
	name  specs.Arch
	audit uint32 // AUDIT_ARCH_* (seccomp(2))
	x32   bool   // its calls have a second set of numbers
}

// native is this machine's architecture, which has to be the only one that a profile names.
func native(named []specs.Arch) (architecture, error) {
	var arch architecture
	switch runtime.GOARCH {
	case "amd64":
		arch = architecture{specs.ArchX86_64, unix.AUDIT_ARCH_X86_64, true}
	case "arm64":
		arch = architecture{specs.ArchAARCH64, unix.AUDIT_ARCH_AARCH64, false}
	case "riscv64":
		arch = architecture{specs.ArchRISCV64, unix.AUDIT_ARCH_RISCV64, false}
	}
	if len(named) != 1 || named[0] != arch.name {
		return arch, fmt.Errorf("it is for the architectures %v and not for %s alone", named, runtime.GOARCH)
	}
	return arch, nil
}

// The offsets of struct seccomp_data, and the bit of x32's numbers (seccomp(2)).
const (
	offsetNumber = 0
	offsetArch   = 4
	bitX32       = 0x40000000
)

// unknown answers ENOSYS to calls that are newer than all that the profile names, as a kernel does that lacks them: a
// library that asks whether a call is there takes EPERM for a failure. The rest goes on to the rules behind it.
// libcontainer does the same (libcontainer/seccomp/patchbpf).
func unknown(arch architecture, newest uint32) []byte {
	var foreign uint32 // no bit: nothing is
	if arch.x32 {
		foreign = bitX32
	}
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offsetArch},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch.audit, Jf: 4},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offsetNumber},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: foreign, Jt: 2},
		{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: newest, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
	}
	var raw []byte
	for _, step := range program {
		raw = binary.NativeEndian.AppendUint16(raw, step.Code)
		raw = append(raw, step.Jt, step.Jf)
		raw = binary.NativeEndian.AppendUint32(raw, step.K)
	}
	return raw
}
