package spec

import "github.com/opencontainers/runtime-spec/specs-go"

// Numbers of the kernel's interface; they are the same on amd64, arm64 and riscv64.
const (
	enosys       = 38
	eopnotsupp   = 95
	eafnosupport = 97

	afUnix  = 1
	afInet  = 2
	afInet6 = 10

	setIDBits = 0o6000             // S_ISUID|S_ISGID (inode(7))
	makesFile = 0o100 | 0o20000000 // O_CREAT|__O_TMPFILE: only with one of them open(2) has a mode
)

// unsupportedRules answer as a kernel or filesystem does that lacks the call, for which libraries
// have a way round: openat2 and clone3 take their arguments in memory, where no filter sees them, and
// fallocate takes a disk's space faster than a watchdog can look.
func unsupportedRules() []specs.LinuxSyscall {
	return []specs.LinuxSyscall{
		refuse(enosys, "openat2"),
		refuse(enosys, "clone3"),
		refuse(eopnotsupp, "fallocate"),
	}
}

// socketRules allow sockets of three families and let every other be refused as the caller says. The
// families are allowed one by one: the filter compares 64 bits and the kernel takes 32, so "all but
// these" would be passed with a high bit set (CVE-2019-10063). In libseccomp a rule without condition wins
// over those with one, so the refusals name all other numbers.
func socketRules(refused action) []specs.LinuxSyscall {
	rules := []specs.LinuxSyscall{
		allowIf(eq(0, afUnix), "socket", "socketpair"),
		allowIf(eq(0, afInet), "socket"),
		allowIf(eq(0, afInet6), "socket"),
		refused(eq(0, 0), "socket", "socketpair"),
		refused(greater(0, afUnix), "socketpair"),
		refused(greater(0, afInet6), "socket"),
	}
	for family := uint64(afInet + 1); family < afInet6; family++ {
		rules = append(rules, refused(eq(0, family), "socket"))
	}
	return rules
}

// auditRules ask before a process names an address. sendto without one is send(2), and too frequent.
func auditRules() []specs.LinuxSyscall {
	return []specs.LinuxSyscall{
		{Names: []string{"connect"}, Action: specs.ActNotify},
		allowIf(eq(4, 0), "sendto"),
		notify(greater(4, 0), "sendto"),
	}
}

// action makes the rule for calls that match the argument.
type action func(arg specs.LinuxSeccompArg, names ...string) specs.LinuxSyscall

func refuseFamily(arg specs.LinuxSeccompArg, names ...string) specs.LinuxSyscall {
	return refuseIf(eafnosupport, arg, names...)
}

func notify(arg specs.LinuxSeccompArg, names ...string) specs.LinuxSyscall {
	return specs.LinuxSyscall{Names: names, Action: specs.ActNotify, Args: []specs.LinuxSeccompArg{arg}}
}

// setIDRules let nobody make a set-user-id or set-group-id file: calls with such a mode fall to the
// default, EPERM. Rules of one call are alternatives.
func setIDRules() []specs.LinuxSyscall {
	return []specs.LinuxSyscall{
		allowIf(unset(1, setIDBits), "chmod", "fchmod", "creat", "mkdir", "mknod"),
		allowIf(unset(2, setIDBits), "fchmodat", "fchmodat2", "mkdirat", "mknodat"),
		allowIf(unset(1, makesFile), "open"),
		allowIf(unset(2, setIDBits), "open"),
		allowIf(unset(2, makesFile), "openat"),
		allowIf(unset(3, setIDBits), "openat"),
	}
}

// ownLimitsRules let a process set its own limits and nobody else's: our init has the analysis' id, and
// with a limit on its CPU time the kernel would end the run for it.
func ownLimitsRules() []specs.LinuxSyscall {
	return []specs.LinuxSyscall{allowIf(eq(0, 0), "prlimit64")}
}

func allowIf(arg specs.LinuxSeccompArg, names ...string) specs.LinuxSyscall {
	return specs.LinuxSyscall{Names: names, Action: specs.ActAllow, Args: []specs.LinuxSeccompArg{arg}}
}

func refuse(errno uint, names ...string) specs.LinuxSyscall {
	return specs.LinuxSyscall{Names: names, Action: specs.ActErrno, ErrnoRet: &errno}
}

func refuseIf(errno uint, arg specs.LinuxSeccompArg, names ...string) specs.LinuxSyscall {
	rule := refuse(errno, names...)
	rule.Args = []specs.LinuxSeccompArg{arg}
	return rule
}

func eq(index uint, value uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: value, Op: specs.OpEqualTo}
}

func greater(index uint, value uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: value, Op: specs.OpGreaterThan}
}

// unset holds where none of the bits is set: argument & Value == ValueTwo.
func unset(index uint, bits uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: bits, ValueTwo: 0, Op: specs.OpMaskedEqual}
}
