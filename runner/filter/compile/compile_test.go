package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/filter"
	"github.com/scidex-ai/scidex-oci/spec"
)

// profileOf is what runs have on an architecture.
func profileOf(t *testing.T, arch string, audit bool) *specs.LinuxSeccomp {
	t.Helper()
	profile, err := spec.Filter(arch, audit)
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

func compiled(t *testing.T, arch string, audit bool) []byte {
	t.Helper()
	program, err := compile(profileOf(t, arch, audit))
	if err != nil {
		t.Fatalf("%s: %v", arch, err)
	}
	return program
}

// TestEmbedded: what analyses get is what this profile and this libseccomp make.
func TestEmbedded(t *testing.T) {
	for _, audit := range []bool{false, true} {
		embedded, err := filter.Program(audit)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(embedded, compiled(t, runtime.GOARCH, audit)) {
			t.Errorf("with the audit %t: it was compiled of something else; run scripts/build", audit)
		}
	}
}

// call is one by its name, or, where it has none, by its number.
type call struct {
	name   string
	number uint32
	args   [6]uint64
}

// numberOn is the call's number on an architecture.
func (c call) numberOn(t *testing.T, arch architecture) uint32 {
	t.Helper()
	if c.name == "" {
		return c.number
	}
	number, err := libseccomp.GetSyscallFromNameByArch(c.name, arch.library)
	if err != nil || number < 0 {
		t.Fatalf("%s: no number (%v)", c.name, err)
	}
	return uint32(number)
}

// packet is a call, struct seccomp_data (seccomp(2)), as bpf.VM reads it: word for word in the byte order of networks.
func packet(number, audit uint32, args [6]uint64) []byte {
	raw := binary.BigEndian.AppendUint32(nil, number)
	raw = binary.BigEndian.AppendUint32(raw, audit)
	raw = append(raw, make([]byte, 8)...) // instruction_pointer
	for _, arg := range args {
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
			Op: byteOrder.Uint16(step), Jt: step[2], Jf: step[3], K: byteOrder.Uint32(step[4:]),
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

// TestProgram has the programs of all architectures, by the numbers that calls have there.
func TestProgram(t *testing.T) {
	for _, test := range []struct {
		name  string
		audit bool
		call  call
		want  uint32
	}{
		{"a call that is allowed", false, call{name: "read"}, allowed},
		{"one that is not", false, call{name: "mount"}, errno(unix.EPERM)},
		{"one with an errno of its own", false, call{name: "openat2"}, errno(unix.ENOSYS)},
		{"one that is newer than the profile", false, call{number: 9999}, errno(unix.ENOSYS)},
		{"an old one whose number is high", false, call{name: "faccessat2"}, allowed},
		{"one with an argument that it may have", false, call{name: "fchmodat", args: [6]uint64{2: 0o755}}, allowed},
		{"one that it may not have", false, call{name: "fchmodat", args: [6]uint64{2: 0o4755}}, errno(unix.EPERM)},
		{"a family that is allowed", false, socket(unix.AF_UNIX), allowed},
		{"one that is not", false, socket(unix.AF_VSOCK), errno(unix.EAFNOSUPPORT)},
		{"the same with a high bit", false, socket(1<<32 | unix.AF_UNIX), errno(unix.EAFNOSUPPORT)},
		{"two conditions that hold", false, socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP), allowed},
		{"one of which does not", false, socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP), errno(unix.EPERM)},
		{"itself", false, call{name: "sched_setscheduler"}, allowed},
		{"a thread of its own", false, call{name: "sched_setaffinity", args: [6]uint64{4097}}, allowed},
		{"the container's init", false, call{name: "sched_setaffinity", args: [6]uint64{1}}, errno(unix.EPERM)},
		{"the same with a high bit", false, call{name: "sched_setattr", args: [6]uint64{1<<32 | 1}}, errno(unix.EPERM)},
		{"its own priority", false, call{name: "setpriority"}, allowed},
		{"that of its id", false, call{name: "setpriority", args: [6]uint64{unix.PRIO_USER}}, errno(unix.EPERM)},
		{"that of a group", false, call{name: "ioprio_set", args: [6]uint64{2}}, errno(unix.EPERM)},
		{"a family that the audit asks about", true, socket(unix.AF_VSOCK), unix.SECCOMP_RET_TRACE | uint32(unix.EPERM)},
	} {
		for name, known := range goarch {
			arch := architectures[known]
			vm := machine(t, compiled(t, name, test.audit))
			number := test.call.numberOn(t, arch)
			if got, err := vm.Run(packet(number, arch.audit, test.call.args)); err != nil || uint32(got) != test.want {
				t.Errorf("%s: %s: %#x (%v), want %#x", name, test.name, got, err, test.want)
			}
			for other, foreign := range architectures {
				if other == known {
					continue
				}
				if got, err := vm.Run(packet(number, foreign.audit, test.call.args)); err != nil || uint32(got) != killed {
					t.Errorf("%s: %s, by %s: %#x (%v), want %#x", name, test.name, other, got, err, killed)
				}
			}
		}
	}
}

func socket(args ...uint64) call {
	c := call{name: "socket"}
	copy(c.args[:], args)
	return c
}

// goarch are the architectures by Go's names.
var goarch = map[string]specs.Arch{"amd64": specs.ArchX86_64, "arm64": specs.ArchAARCH64, "riscv64": specs.ArchRISCV64}

// TestX32 has calls by the second set of numbers of an x86 kernel.
func TestX32(t *testing.T) {
	vm := machine(t, compiled(t, "amd64", false))
	for _, number := range []uint32{unix.SYS_READ, unix.SYS_MOUNT, 9999} {
		got, err := vm.Run(packet(bitX32|number, unix.AUDIT_ARCH_X86_64, [6]uint64{}))
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
		l := &specs.Linux{Seccomp: profileOf(t, runtime.GOARCH, false)}
		spoil(l)
		if program, err := compile(l.Seccomp); err == nil {
			t.Errorf("%s: a program of %d bytes", name, len(program))
		}
	}
}

func eq(value uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Op: specs.OpEqualTo, Value: value}
}

// TestRun: the directory has the programs of the last architecture and of no other, and what is right is left alone.
func TestRun(t *testing.T) {
	directory := t.TempDir()
	names := func() (names []string) {
		entries, err := os.ReadDir(directory)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return names
	}
	if err := os.WriteFile(filepath.Join(directory, "README"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"arm64", "amd64"} {
		if err := run([]string{arch, directory}); err != nil {
			t.Fatal(err)
		}
		want := []string{"README"}
		for _, name := range []string{"audited", "plain", "proxy-plain"} {
			want = append(want, name+"-"+arch+".bpf", name+"-"+arch+".profile")
		}
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	plain, audited := filepath.Join(directory, "plain-amd64.bpf"), filepath.Join(directory, "audited-amd64.bpf")
	before, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(audited, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"amd64", directory}); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(plain); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was written again (%v)", err)
	}
	if content, err := os.ReadFile(audited); err != nil || !bytes.Equal(content, compiled(t, "amd64", true)) {
		t.Errorf("what was wrong is still there: %d bytes (%v)", len(content), err)
	}
	for _, args := range [][]string{nil, {"amd64"}, {"vax", directory}, {"amd64", filepath.Join(directory, "none")}} {
		if run(args) == nil {
			t.Errorf("%q is no error", args)
		}
	}
}
