package spec

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// verdict evaluates a profile as libseccomp does: a rule without condition wins over those with one,
// rules of one call are alternatives, the conditions of one rule must all hold. Rules that match with
// different actions would depend on libseccomp's order, and are an error.
func verdict(t *testing.T, profile *specs.LinuxSeccomp, name string, args ...uint64) string {
	t.Helper()
	def := outcome(profile.DefaultAction, profile.DefaultErrnoRet)
	var conditional []string
	for _, rule := range profile.Syscalls {
		if !slices.Contains(rule.Names, name) || outcome(rule.Action, rule.ErrnoRet) == def {
			continue
		}
		if len(rule.Args) == 0 {
			return outcome(rule.Action, rule.ErrnoRet)
		}
		if matches(t, rule.Args, args) {
			conditional = append(conditional, outcome(rule.Action, rule.ErrnoRet))
		}
	}
	conditional = slices.Compact(conditional)
	switch len(conditional) {
	case 0:
		return def
	case 1:
		return conditional[0]
	}
	t.Fatalf("%s%x: rules contradict each other: %v", name, args, conditional)
	return ""
}

func outcome(a specs.LinuxSeccompAction, errno *uint) string {
	if a == specs.ActErrno {
		return fmt.Sprint("errno ", *errno)
	}
	return string(a)
}

func matches(t *testing.T, conditions []specs.LinuxSeccompArg, args []uint64) bool {
	t.Helper()
	seen := map[uint]bool{}
	for _, c := range conditions {
		if seen[c.Index] {
			t.Fatalf("two conditions on one argument in one rule: libcontainer makes alternatives of them: %+v", conditions)
		}
		seen[c.Index] = true
		var arg uint64
		if int(c.Index) < len(args) {
			arg = args[c.Index]
		}
		var holds bool
		switch c.Op {
		case specs.OpEqualTo:
			holds = arg == c.Value
		case specs.OpGreaterThan:
			holds = arg > c.Value
		case specs.OpMaskedEqual:
			holds = arg&c.Value == c.ValueTwo
		default:
			t.Fatalf("operator %s is not known to this test", c.Op)
		}
		if !holds {
			return false
		}
	}
	return true
}

const (
	yes     = "SCMP_ACT_ALLOW"
	eperm   = "errno 1"
	nosys   = "errno 38"
	notsup  = "errno 95"
	noAF    = "errno 97"
	noProto = "errno 93"
	creat   = 0o101      // O_WRONLY|O_CREAT
	tmpFile = 0o20200002 // O_RDWR|O_TMPFILE on amd64
)

func testProfile(t *testing.T) *specs.LinuxSeccomp {
	t.Helper()
	s, err := OCI(testAnalysis(), testPlacement())
	if err != nil {
		t.Fatal(err)
	}
	return s.Linux.Seccomp
}

func TestSeccomp(t *testing.T) {
	profile := testProfile(t)
	const (
		high  = 1 << 32   // the kernel does not see it in an int
		flags = 0o2004000 // SOCK_CLOEXEC|SOCK_NONBLOCK
	)
	for _, c := range []struct {
		name string
		args []uint64
		want string
	}{
		{"read", nil, yes},
		{"execve", nil, yes},
		{"fork", nil, yes},
		{"ptrace", nil, eperm},
		{"reboot", nil, eperm},
		{"no_such_call", nil, eperm},

		{"openat2", nil, nosys},
		{"clone3", nil, nosys},
		{"fallocate", nil, notsup},

		{"clone", []uint64{0x1200011}, yes},        // fork of glibc
		{"clone", []uint64{0x3d0f00}, yes},         // a thread of glibc
		{"clone", []uint64{0x10000011}, eperm},     // CLONE_NEWUSER
		{"clone", []uint64{0x40000011}, eperm},     // CLONE_NEWNET
		{"clone", []uint64{0x00020011}, eperm},     // CLONE_NEWNS
		{"clone", []uint64{0x02000011}, eperm},     // CLONE_NEWCGROUP
		{"clone", []uint64{0x20000011}, eperm},     // CLONE_NEWPID
		{"clone", []uint64{0x08000011}, eperm},     // CLONE_NEWIPC
		{"clone", []uint64{0x04000011}, eperm},     // CLONE_NEWUTS
		{"clone", []uint64{high | 0x1200011}, yes}, // high bits make no namespace
		{"clone", []uint64{high | 1<<28}, eperm},   // and hide none
		{"socket", []uint64{0}, noAF},              // AF_UNSPEC
		{"socket", []uint64{1}, yes},               // AF_UNIX
		{"socket", []uint64{2, 1}, yes},            // AF_INET, SOCK_STREAM
		{"socket", []uint64{10, 2}, yes},           // AF_INET6, SOCK_DGRAM
		{"socket", []uint64{16}, noAF},             // AF_NETLINK
		{"socket", []uint64{17}, noAF},             // AF_PACKET
		{"socket", []uint64{38}, noAF},             // AF_ALG
		{"socket", []uint64{40}, noAF},             // AF_VSOCK
		{"socket", []uint64{high | 40}, noAF},      // the same for the kernel
		{"socket", []uint64{high | 1}, noAF},
		{"socket", []uint64{2, flags | 1, 6}, yes},
		{"socket", []uint64{10, flags | 2, 17}, yes},
		{"socket", []uint64{2, 1, 262}, noProto},  // MPTCP
		{"socket", []uint64{10, 1, 132}, noProto}, // SCTP
		{"socket", []uint64{2, 2, 136}, noProto},  // UDP-Lite
		{"socket", []uint64{2, 1, high | 6}, noProto},
		{"socket", []uint64{2, 2, 1}, eperm}, // ping
		{"socket", []uint64{2, 1, 17}, eperm},
		{"socket", []uint64{2, 2, 6}, eperm},
		{"socket", []uint64{2, 3, 6}, eperm},  // SOCK_RAW
		{"socket", []uint64{2, 5, 0}, eperm},  // SOCK_SEQPACKET: SCTP
		{"socket", []uint64{10, 6, 0}, eperm}, // SOCK_DCCP
		{"socket", []uint64{2, 10, 0}, eperm}, // SOCK_PACKET
		{"socket", []uint64{2, high | 5, 0}, eperm},
		{"socket", []uint64{2, high | 1, 0}, eperm},
		{"setsockopt", []uint64{9, 6, 1}, yes},      // TCP_NODELAY
		{"setsockopt", []uint64{9, 0, 26}, yes},     // of another level
		{"setsockopt", []uint64{9, 41, 26}, yes},    // IPV6_V6ONLY
		{"setsockopt", []uint64{9, 41, 67}, yes},    // IPV6_TCLASS
		{"setsockopt", []uint64{9, 41, 78}, yes},    // IPV6_FREEBIND
		{"setsockopt", []uint64{9, 0, 52}, yes},     // IP_PROTOCOL
		{"setsockopt", []uint64{9, 0, 64}, eperm},   // IPT_SO_SET_REPLACE
		{"setsockopt", []uint64{9, 0, 96}, eperm},   // ARPT_SO_SET_REPLACE
		{"setsockopt", []uint64{9, 0, 1152}, eperm}, // IP_VS
		{"setsockopt", []uint64{9, 41, 64}, eperm},  // IP6T_SO_SET_REPLACE
		{"setsockopt", []uint64{9, 41, 65}, eperm},
		{"setsockopt", []uint64{9, high | 1, 26}, eperm},
		{"setsockopt", []uint64{9, 1, high | 26}, eperm},
		{"setsockopt", []uint64{9, 1, high | 2}, eperm},
		{"setsockopt", []uint64{9, 1, 128}, eperm},
		{"setsockopt", []uint64{9, 282, 1}, eperm}, // SOL_TLS
		{"socketpair", []uint64{0}, noAF},
		{"socketpair", []uint64{1}, yes},
		{"socketpair", []uint64{2}, noAF},
		{"socketpair", []uint64{high | 1}, noAF},
		{"socketcall", nil, eperm},
		{"prlimit64", []uint64{0}, yes},
		{"prlimit64", []uint64{1}, eperm},
		{"prlimit64", []uint64{high}, eperm},
		{"setpriority", []uint64{0, 0}, yes}, // PRIO_PROCESS, itself
		{"setpriority", []uint64{0, 1}, eperm},
		{"setpriority", []uint64{0, high | 1}, eperm},
		{"setpriority", []uint64{high, 1}, eperm},
		{"setpriority", []uint64{0, 2}, yes},
		{"setpriority", []uint64{1, 0}, eperm}, // PRIO_PGRP
		{"setpriority", []uint64{high | 1, 1}, eperm},
		{"setpriority", []uint64{2, 0}, eperm}, // PRIO_USER
		{"setpriority", []uint64{high | 2, 1000}, eperm},
		{"ioprio_set", []uint64{1, 0}, yes}, // IOPRIO_WHO_PROCESS, itself
		{"ioprio_set", []uint64{1, 1}, eperm},
		{"ioprio_set", []uint64{high | 1, high | 1}, eperm},
		{"ioprio_set", []uint64{1, 3}, yes},
		{"ioprio_set", []uint64{2, 0}, eperm}, // IOPRIO_WHO_PGRP
		{"ioprio_set", []uint64{3, 0}, eperm}, // IOPRIO_WHO_USER
		{"personality", []uint64{0}, yes},
		{"personality", []uint64{0x40000}, eperm}, // ADDR_NO_RANDOMIZE
		{"chmod", []uint64{9, 0o755}, yes},
		{"chmod", []uint64{9, 0o1777}, yes},
		{"chmod", []uint64{9, 0o4755}, eperm},
		{"chmod", []uint64{9, 0o2755}, eperm},
		{"chmod", []uint64{9, high | 0o4000}, eperm},
		{"fchmod", []uint64{9, 0o644}, yes},
		{"fchmod", []uint64{9, 0o6755}, eperm},
		{"fchmodat", []uint64{9, 9, 0o644}, yes},
		{"fchmodat", []uint64{9, 9, 0o4755}, eperm},
		{"fchmodat2", []uint64{9, 9, 0o644}, yes},
		{"fchmodat2", []uint64{9, 9, 0o2755}, eperm},
		{"creat", []uint64{9, 0o644}, yes},
		{"creat", []uint64{9, 0o4755}, eperm},
		{"mkdir", []uint64{9, 0o755}, yes},
		{"mkdir", []uint64{9, 0o2755}, eperm},
		{"mkdirat", []uint64{9, 9, 0o755}, yes},
		{"mkdirat", []uint64{9, 9, 0o2755}, eperm},
		{"mknod", []uint64{9, 0o10644}, yes},
		{"mknod", []uint64{9, 0o14644}, eperm},
		{"mknodat", []uint64{9, 9, 0o100644}, yes},
		{"mknodat", []uint64{9, 9, 0o104644}, eperm},
		{"open", []uint64{9, 0, 0o7777}, yes}, // without O_CREAT the mode is what the register held
		{"open", []uint64{9, creat, 0o644}, yes},
		{"open", []uint64{9, creat, 0o4755}, eperm},
		{"open", []uint64{9, tmpFile, 0o600}, yes},
		{"open", []uint64{9, tmpFile, 0o4700}, eperm},
		{"openat", []uint64{9, 9, 0, 0o7777}, yes},
		{"openat", []uint64{9, 9, 0o200000, 0o7777}, yes}, // O_DIRECTORY is a part of O_TMPFILE
		{"openat", []uint64{9, 9, creat, 0o644}, yes},
		{"openat", []uint64{9, 9, creat, 0o2755}, eperm},
		{"openat", []uint64{9, 9, high | creat, 0o2755}, eperm},
		{"openat", []uint64{9, 9, tmpFile, 0o4700}, eperm},
	} {
		if got := verdict(t, profile, c.name, c.args...); got != c.want {
			t.Errorf("%s%#o = %s; want %s", c.name, c.args, got, c.want)
		}
	}
}

// TestSeccompInit: the scheduling of every process but the init can be changed, whatever the bits hold that the kernel
// does not see.
func TestSeccompInit(t *testing.T) {
	profile := testProfile(t)
	for _, name := range []string{"sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"} {
		for _, high := range []uint64{0, 1 << 32, 1 << 63, 1<<64 - 1<<32} {
			if got := verdict(t, profile, name, high|1); got != eperm {
				t.Errorf("%s(%#x): %s", name, high|1, got)
			}
			for _, pid := range []uint64{0, 2, 3, 4, 5, 0x101, 1000, 32768, 32769, 1<<21 + 1, 1<<22 - 1, 1<<32 - 1} {
				if got := verdict(t, profile, name, high|pid); got != yes {
					t.Errorf("%s(%#x): %s", name, high|pid, got)
				}
			}
		}
	}
}

// TestSeccompOptions: of the options of every socket all can be set but those that attach a filter.
func TestSeccompOptions(t *testing.T) {
	profile := testProfile(t)
	for option := range uint64(128) {
		want := yes
		if slices.Contains([]uint64{26, 50, 51, 52}, option) {
			want = eperm
		}
		if got := verdict(t, profile, "setsockopt", 9, 1, option); got != want {
			t.Errorf("option %d: %s, want %s", option, got, want)
		}
	}
}

// TestSeccompAudit: with an audit the same families are refused, as a tracer's business; all else is as
// without.
func TestSeccompAudit(t *testing.T) {
	place := testPlacement()
	place.Audit = true
	s, err := OCI(testAnalysis(), place)
	if err != nil {
		t.Fatal(err)
	}
	audited, plain := s.Linux.Seccomp, testProfile(t)
	if audited.ListenerPath != "" {
		t.Errorf("listener %q", audited.ListenerPath)
	}
	const traced, high = "SCMP_ACT_TRACE", 1 << 32
	for _, name := range []string{"socket", "socketpair"} {
		for _, family := range []uint64{0, 1, 2, 3, 9, 10, 11, 16, 17, 38, 40, 99, high, high | 1, high | 2, high | 10, 1<<64 - 1} {
			want := verdict(t, plain, name, family)
			if want == noAF {
				want = traced
			}
			if got := verdict(t, audited, name, family); got != want {
				t.Errorf("%s(%#x): %s; want %s", name, family, got, want)
			}
		}
	}
	for _, p := range []*specs.LinuxSeccomp{audited, plain} {
		p.Syscalls = without(p.Syscalls, []string{"socket", "socketpair"})
	}
	if !reflect.DeepEqual(audited, plain) {
		t.Error("an audit changes more than socket families")
	}
}

func TestSeccompForbids(t *testing.T) {
	profile := testProfile(t)
	for _, name := range []string{
		"io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key",
		"request_key", "mount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
		"pivot_root", "chroot", "setns", "unshare", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd",
		"process_madvise", "open_by_handle_at", "init_module", "finit_module", "kexec_load", "swapon", "syslog", "acct", "quotactl",
		"settimeofday", "clock_settime", "sethostname", "setdomainname", "iopl", "ioperm", "lookup_dcookie", "nfsservctl", "vhangup",
		"modify_ldt", "memfd_secret",
	} {
		for _, rule := range profile.Syscalls {
			if slices.Contains(rule.Names, name) {
				t.Errorf("%s is named by the rule %+v", name, rule)
			}
		}
	}
}

func TestSeccompArchitecture(t *testing.T) {
	if archs := testProfile(t).Architectures; len(archs) > 1 {
		t.Errorf("architectures %v; want the native one alone", archs)
	}
}

func TestWithout(t *testing.T) {
	rules := []specs.LinuxSyscall{{Names: []string{"a", "b"}}, {Names: []string{"b"}}}
	got := without(rules, []string{"b"})
	if len(got) != 1 || !slices.Equal(got[0].Names, []string{"a"}) || len(rules[0].Names) != 2 {
		t.Errorf("got %v from %v", got, rules)
	}
}
