package spec

import (
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Numbers of the kernel's interface; they are the same on amd64, arm64 and riscv64.
const (
	enosys          = 38
	eprotonosupport = 93
	eopnotsupp      = 95
	eafnosupport    = 97

	afUnix  = 1
	afInet  = 2
	afInet6 = 10

	sockStream = 1
	sockDgram  = 2
	sockFlags  = 0o2004000 // SOCK_CLOEXEC|SOCK_NONBLOCK

	// Protocols (ip(7)), and the levels of their sockets' options.
	ipTCP     = 6
	ipUDP     = 17
	ipIPv6    = 41
	solIP     = 0
	solSocket = 1

	mapHugeTLB = 0x40000 // MAP_HUGETLB (mmap(2))
	mfdHugeTLB = 4       // MFD_HUGETLB (memfd_create(2))

	prioProcess   = 0         // PRIO_PROCESS (setpriority(2))
	ioprioProcess = 1         // IOPRIO_WHO_PROCESS (ioprio_set(2))
	low           = 1<<32 - 1 // what the kernel sees of an int
	pidBits       = 22        // no kernel has a greater process id (PID_MAX_LIMIT)

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
		rule(refused, eq(0, 0), "socket", "socketpair"),
		rule(refused, greater(0, afUnix), "socketpair"),
		rule(refused, greater(0, afInet6), "socket"),
	}
	for family := uint64(afInet + 1); family < afInet6; family++ {
		rules = append(rules, rule(refused, eq(0, family), "socket"))
	}
	return slices.Concat(rules, protocolRules(afInet), protocolRules(afInet6))
}

// protocolRules allow TCP and UDP of a family: the kernel has, or loads, MPTCP, SCTP, DCCP and others for who
// asks by protocol or by type. Those above UDP do not exist, and whoever knows MPTCP has a way round; of all
// else the default says EPERM, as the kernel does of raw sockets.
func protocolRules(family uint64) []specs.LinuxSyscall {
	var rules []specs.LinuxSyscall
	for _, kind := range []struct{ number, protocol uint64 }{{sockStream, ipTCP}, {sockDgram, ipUDP}} {
		ours, ofKind := eq(0, family), masked(1, ^uint64(sockFlags), kind.number)
		unsupported := refuse(eprotonosupport, "socket")
		unsupported.Args = []specs.LinuxSeccompArg{ours, ofKind, greater(2, ipUDP)}
		rules = append(rules, unsupported,
			allowIfAll("socket", ours, ofKind, eq(2, 0)),
			allowIfAll("socket", ours, ofKind, eq(2, kind.protocol)))
	}
	return rules
}

// optionRules allow options of sockets but those that give them a filter: the machine has one bound for the
// memory of all programs of BPF's compiler (net.core.bpf_jit_limit), and more than one hole was in it. The
// levels are those of the sockets that there are, so that of TLS in the kernel is not among them. All bits
// are compared, as of the families.
func optionRules() []specs.LinuxSyscall {
	var rules []specs.LinuxSyscall
	for _, level := range []uint64{solIP, ipTCP, ipUDP, ipIPv6} {
		rules = append(rules, allowIf(eq(1, level), "setsockopt"))
	}
	// All up to 127 but SO_ATTACH_FILTER, 26, SO_ATTACH_BPF, 50, and SO_ATTACH_REUSEPORT_CBPF and _EBPF, 51 and
	// 52, in blocks whose numbers share their upper bits.
	for _, block := range []struct{ first, size uint64 }{
		{0, 16}, {16, 8}, {24, 2}, {27, 1}, {28, 4}, {32, 16}, {48, 2}, {53, 1}, {54, 2}, {56, 8}, {64, 64},
	} {
		rules = append(rules, allowIfAll("setsockopt", eq(1, solSocket), masked(2, ^(block.size-1), block.first)))
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

// spareInitRules let a process be scheduled anew by its number, but not our init, which has the analysis' id: starved of
// the processor it would pass no SIGTERM on, and die late. Nor all processes of an id or a group at once, among which it
// would be. Threads have numbers too, so no other number can be refused.
func spareInitRules() []specs.LinuxSyscall {
	rules := allowOthers(0, nil, "sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity")
	process := func(number uint64) []specs.LinuxSeccompArg { return []specs.LinuxSeccompArg{masked(0, low, number)} }
	return slices.Concat(rules,
		allowOthers(1, process(prioProcess), "setpriority"),
		allowOthers(1, process(ioprioProcess), "ioprio_set"))
}

// allowOthers allows calls whose argument is the number of any process but 1, where the conditions hold. A rule that refuses
// 1 would contradict one that allows the rest, so each rule allows the numbers that differ from 1 in one bit. Bits
// above those of process ids do not count: the kernel sees the lower 32, and with one of the others there is no process.
func allowOthers(index uint, conditions []specs.LinuxSeccompArg, names ...string) []specs.LinuxSyscall {
	var rules []specs.LinuxSyscall
	for bit := range pidBits {
		differs := masked(index, 1<<bit, 1<<bit&^1) // 1 has the lowest bit alone
		rules = append(rules, specs.LinuxSyscall{Names: names, Action: specs.ActAllow, Args: append(slices.Clone(conditions), differs)})
	}
	return rules
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

// allowIfAll allows a call of which all conditions hold, each of another argument.
func allowIfAll(name string, args ...specs.LinuxSeccompArg) specs.LinuxSyscall {
	return specs.LinuxSyscall{Names: []string{name}, Action: specs.ActAllow, Args: args}
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

// unset holds where none of the bits is set.
func unset(index uint, bits uint64) specs.LinuxSeccompArg { return masked(index, bits, 0) }

// masked holds where of the bits of the mask the argument has just these.
func masked(index uint, mask, bits uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: mask, ValueTwo: bits, Op: specs.OpMaskedEqual}
}
