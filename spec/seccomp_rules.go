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

	mapHugeTLB = 0x40000 // MAP_HUGETLB (mmap(2))
	mfdHugeTLB = 4       // MFD_HUGETLB (memfd_create(2))

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

// socketRules allow sockets of three families, and of every other say what refused says. The
// families are allowed one by one: the filter compares 64 bits and the kernel takes 32, so "all but
// these" would be passed with a high bit set (CVE-2019-10063). In libseccomp a rule without condition wins
// over those with one, so the refusals name all other numbers.
func socketRules(refused specs.LinuxSyscall) []specs.LinuxSyscall {
	rules := []specs.LinuxSyscall{
		allowIf(eq(0, afUnix), "socket", "socketpair"),
		allowIf(eq(0, afInet), "socket"),
		allowIf(eq(0, afInet6), "socket"),
		rule(refused, eq(0, 0), "socket", "socketpair"),
		rule(refused, greater(0, afUnix), "socketpair"),
		rule(refused, greater(0, afInet6), "socket"),
	}
	for family := uint64(afInet + 1); family < afInet6; family++ {
		rules = append(rules, rule(refused, eq(0, family), "socket"))
	}
	return rules
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

// hugePageRules keep the machine's pool of huge pages for those that it was set aside for. Transparent ones
// are not of it.
func hugePageRules() []specs.LinuxSyscall {
	return []specs.LinuxSyscall{
		allowIf(unset(3, mapHugeTLB), "mmap"),
		allowIf(unset(1, mfdHugeTLB), "memfd_create"),
	}
}

func allowIf(arg specs.LinuxSeccompArg, names ...string) specs.LinuxSyscall {
	return rule(specs.LinuxSyscall{Action: specs.ActAllow}, arg, names...)
}

func refuse(errno uint, names ...string) specs.LinuxSyscall {
	return specs.LinuxSyscall{Names: names, Action: specs.ActErrno, ErrnoRet: &errno}
}

// rule says of calls whose argument matches what action says.
func rule(action specs.LinuxSyscall, arg specs.LinuxSeccompArg, names ...string) specs.LinuxSyscall {
	action.Names, action.Args = names, []specs.LinuxSeccompArg{arg}
	return action
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
