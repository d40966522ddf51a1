package filter

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/spec"
)

// profileOf is what runs have.
func profileOf(t *testing.T, audit bool) *specs.LinuxSeccomp {
	t.Helper()
	profile, err := spec.Filter(audit)
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

// call is struct seccomp_data (seccomp(2)).
type call struct {
	number int
	arch   uint32
	args   [6]uint64
}

// packet is the call as bpf.VM reads it: word for word in the byte order of networks.
func (c call) packet() []byte {
	raw := binary.BigEndian.AppendUint32(nil, uint32(c.number))
	raw = binary.BigEndian.AppendUint32(raw, c.arch)
	raw = append(raw, make([]byte, 8)...) // instruction_pointer
	for _, arg := range c.args {
		raw = binary.BigEndian.AppendUint32(raw, uint32(arg))
		raw = binary.BigEndian.AppendUint32(raw, uint32(arg>>32))
	}
	return raw
}

// machine runs a program as the kernel does.
func machine(t *testing.T, program []byte) *bpf.VM {
	t.Helper()
	var raw []bpf.RawInstruction
	for step := range slices.Chunk(program, 8) {
		raw = append(raw, bpf.RawInstruction{
			Op: binary.NativeEndian.Uint16(step), Jt: step[2], Jf: step[3], K: binary.NativeEndian.Uint32(step[4:]),
		})
	}
	steps, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the program has steps that nobody knows")
	}
	vm, err := bpf.NewVM(steps)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

const (
	allowed = unix.SECCOMP_RET_ALLOW
	killed  = unix.SECCOMP_RET_KILL_THREAD
)

func errno(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

func TestProgram(t *testing.T) {
	arch := nativeArch(t)
	for _, test := range []struct {
		name  string
		audit bool
		call  call
		want  uint32
	}{
		{"a call that is allowed", false, call{unix.SYS_READ, arch, [6]uint64{}}, allowed},
		{"one that is not", false, call{unix.SYS_MOUNT, arch, [6]uint64{}}, errno(unix.EPERM)},
		{"one with an errno of its own", false, call{unix.SYS_OPENAT2, arch, [6]uint64{}}, errno(unix.ENOSYS)},
		{"one that is newer than the profile", false, call{9999, arch, [6]uint64{}}, errno(unix.ENOSYS)},
		{"an old one whose number is high", false, call{unix.SYS_FACCESSAT2, arch, [6]uint64{}}, allowed},
		{"one with an argument that it may have", false, call{unix.SYS_FCHMODAT, arch, [6]uint64{2: 0o755}}, allowed},
		{"one that it may not have", false, call{unix.SYS_FCHMODAT, arch, [6]uint64{2: 0o4755}}, errno(unix.EPERM)},
		{"a family that is allowed", false, call{unix.SYS_SOCKET, arch, [6]uint64{unix.AF_UNIX}}, allowed},
		{"one that is not", false, call{unix.SYS_SOCKET, arch, [6]uint64{unix.AF_VSOCK}}, errno(unix.EAFNOSUPPORT)},
		{"the same with a high bit", false, call{unix.SYS_SOCKET, arch, [6]uint64{1<<32 | unix.AF_UNIX}}, errno(unix.EAFNOSUPPORT)},
		{"two conditions that hold", false, call{unix.SYS_SOCKET, arch, [6]uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP}}, allowed},
		{"one of which does not", false, call{unix.SYS_SOCKET, arch, [6]uint64{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP}}, errno(unix.EPERM)},
		{"a family that the audit asks about", true, call{unix.SYS_SOCKET, arch, [6]uint64{unix.AF_VSOCK}}, unix.SECCOMP_RET_TRACE | uint32(unix.EPERM)},
		{"another architecture", false, call{unix.SYS_READ, unix.AUDIT_ARCH_PPC64LE, [6]uint64{}}, killed},
		{"another architecture's newer call", false, call{9999, unix.AUDIT_ARCH_PPC64LE, [6]uint64{}}, killed},
	} {
		program, err := Compile(profileOf(t, test.audit))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := machine(t, program).Run(test.call.packet()); err != nil || uint32(got) != test.want {
			t.Errorf("%s: %#x (%v), want %#x", test.name, got, err, test.want)
		}
	}
}

// TestX32 has calls by the second set of numbers of an x86 kernel.
func TestX32(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("only amd64 has x32")
	}
	program, err := Compile(profileOf(t, false))
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []int{unix.SYS_READ, unix.SYS_MOUNT, 9999} {
		got, err := machine(t, program).Run(call{bitX32 | number, unix.AUDIT_ARCH_X86_64, [6]uint64{}}.packet())
		if err != nil || uint32(got) != killed {
			t.Errorf("%d: %#x (%v), want %#x", number, got, err, killed)
		}
	}
}

// TestCompileRefuses has profiles of which no program may come.
func TestCompileRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*specs.Linux){
		"none":                 func(l *specs.Linux) { l.Seccomp = nil },
		"no architecture":      func(l *specs.Linux) { l.Seccomp.Architectures = nil },
		"another architecture": func(l *specs.Linux) { l.Seccomp.Architectures[0] = specs.ArchS390X },
		"two architectures":    func(l *specs.Linux) { l.Seccomp.Architectures = append(l.Seccomp.Architectures, specs.ArchX86) },
		"an unknown default":   func(l *specs.Linux) { l.Seccomp.DefaultAction = "SCMP_ACT_HOPE" },
		"an unknown action":    func(l *specs.Linux) { l.Seccomp.Syscalls[0].Action = specs.ActNotify },
		"an unknown operator":  func(l *specs.Linux) { l.Seccomp.Syscalls[0].Args = []specs.LinuxSeccompArg{{Op: "SCMP_CMP_LIKE"}} },
		"an argument beyond six": func(l *specs.Linux) {
			l.Seccomp.Syscalls[0].Args = []specs.LinuxSeccompArg{{Index: 6, Op: specs.OpEqualTo}}
		},
		"two of one argument": func(l *specs.Linux) { l.Seccomp.Syscalls[0].Args = []specs.LinuxSeccompArg{eq(1), eq(2)} },
	} {
		l := &specs.Linux{Seccomp: profileOf(t, false)}
		spoil(l)
		if program, err := Compile(l.Seccomp); err == nil {
			t.Errorf("%s: a program of %d bytes", name, len(program))
		}
	}
}

func eq(value uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Op: specs.OpEqualTo, Value: value}
}

func nativeArch(t *testing.T) uint32 {
	t.Helper()
	arch, err := native(profileOf(t, false).Architectures)
	if err != nil {
		t.Fatal(err)
	}
	return arch.audit
}
