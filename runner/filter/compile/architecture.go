package main

import (
	"encoding/binary"
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// architecture is one whose calls the filter allows.
type architecture struct {
	library libseccomp.ScmpArch
	audit   uint32 // AUDIT_ARCH_* (seccomp(2))
	x32     bool   // has a second set of call numbers
}

// All architectures share a byte order.
var (
	architectures = map[specs.Arch]architecture{
		specs.ArchX86_64:  {libseccomp.ArchAMD64, unix.AUDIT_ARCH_X86_64, true},
		specs.ArchAARCH64: {libseccomp.ArchARM64, unix.AUDIT_ARCH_AARCH64, false},
		specs.ArchRISCV64: {libseccomp.ArchRISCV64, unix.AUDIT_ARCH_RISCV64, false},
	}
	byteOrder = binary.LittleEndian
)

// architectureOf returns a profile's architecture; it may name no other machine's.
func architectureOf(named []specs.Arch) (architecture, error) {
	if len(named) == 1 {
		if arch, known := architectures[named[0]]; known {
			return arch, nil
		}
	}
	return architecture{}, fmt.Errorf("it is for the architectures %v and not for one that is known here", named)
}
