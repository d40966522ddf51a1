package main

import "golang.org/x/sys/unix"

// Offsets in struct seccomp_data, and the bit of x32's numbers (seccomp(2)).
const (
	offsetNumber = 0
	offsetArch   = 4
	bitX32       = 0x40000000
)

// unknown returns ENOSYS for calls newer than all that the profile names, as an older kernel does: a library that probes
// for a call takes EPERM as a failure. Other calls go on to the rules after it. libcontainer does the same
// (libcontainer/seccomp/patchbpf).
func unknown(arch architecture, newest uint32) []byte {
	var foreign uint32 // no bits
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
		raw = byteOrder.AppendUint16(raw, step.Code)
		raw = append(raw, step.Jt, step.Jf)
		raw = byteOrder.AppendUint32(raw, step.K)
	}
	return raw
}
