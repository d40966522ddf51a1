package spec

import (
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Constants of the kernel's interface; the same on amd64, arm64 and riscv64.
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

	// Protocols (ip(7)), and levels of their socket options.
	ipTCP     = 6
	ipUDP     = 17
	ipIPv6    = 41
	solIP     = 0
	solSocket = 1

	mapHugeTLB = 0x40000 // MAP_HUGETLB (mmap(2))
	mfdHugeTLB = 4       // MFD_HUGETLB (memfd_create(2))

	prioProcess   = 0         // PRIO_PROCESS (setpriority(2))
	ioprioProcess = 1         // IOPRIO_WHO_PROCESS (ioprio_set(2))
	low           = 1<<32 - 1 // the kernel's part of an int
	pidBits       = 22        // no process id is greater (PID_MAX_LIMIT)

	setIDBits = 0o6000             // S_ISUID|S_ISGID (inode(7))
	makesFile = 0o100 | 0o20000000 // O_CREAT|__O_TMPFILE: only with one of them has open(2) a mode
)

// unsupportedRules return the error of a kernel or filesystem without the call, for which libraries have a fallback:
// openat2 and clone3 take arguments in memory, where no filter sees them, and fallocate takes disk space faster than a
// watchdog can check.
func unsupportedRules() []specs.LinuxSyscall {
	return []specs.LinuxSyscall{
		refuse(enosys, "openat2"),
		refuse(enosys, "clone3"),
		refuse(eopnotsupp, "fallocate"),
	}
}

// socketRules allow sockets of three families, and apply refused to all others. Families are allowed one by one: the
// filter compares 64 bits and the kernel takes 32, so "all but these" could be bypassed with a high bit set
// (CVE-2019-10063). In libseccomp an unconditional rule wins over conditional ones, so the refusals name all other
// numbers.
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

// protocolRules allow a family's TCP and UDP: the kernel has, or loads, MPTCP, SCTP, DCCP and others by protocol or type.
// None exists above UDP, and programs with MPTCP have a fallback; for the rest the default is EPERM, as the kernel's for
// raw sockets.
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

// optionRules allow socket options except those that attach a filter: BPF's compiler has one memory limit for the whole
// machine (net.core.bpf_jit_limit), and has had holes. The levels are those of the allowed sockets, so kernel TLS is
// excluded. All bits are compared, as for families. Options of IP from 64 on are those of packet filters, which have had holes
// too. IPv6 has two.
func optionRules() []specs.LinuxSyscall {
	var rules []specs.LinuxSyscall
	for _, level := range []uint64{ipTCP, ipUDP} {
		rules = append(rules, allowIf(eq(1, level), "setsockopt"))
	}
	rules = append(rules, optionsBetween(solIP, numbers{0, 64})...)
	rules = append(rules, optionsBetween(ipIPv6, numbers{0, 64}, numbers{66, 2}, numbers{68, 4}, numbers{72, 8}, numbers{80, 16}, numbers{96, 32})...)
	// All up to 127 but SO_ATTACH_FILTER, 26, SO_ATTACH_BPF, 50, and SO_ATTACH_REUSEPORT_CBPF and _EBPF, 51 and 52, in
	// blocks of numbers with the same upper bits.
	return append(rules, optionsBetween(solSocket, numbers{0, 16}, numbers{16, 8}, numbers{24, 2}, numbers{27, 1}, numbers{28, 4}, numbers{32, 16},
		numbers{48, 2}, numbers{53, 1}, numbers{54, 2}, numbers{56, 8}, numbers{64, 64})...)
}

// numbers are so many from a first one on, all with the same upper bits.
type numbers struct{ first, size uint64 }

func optionsBetween(level uint64, blocks ...numbers) (rules []specs.LinuxSyscall) {
	for _, block := range blocks {
		rules = append(rules, allowIfAll("setsockopt", eq(1, level), masked(2, ^(block.size-1), block.first)))
	}
	return rules
}

// setIDRules forbid set-user-id and set-group-id files: calls with such a mode get the default, EPERM. Rules of one call
// are alternatives.
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

// ownLimitsRules let a process set only its own limits: the init has the analysis' id, and with a CPU time limit the
// kernel would end the run.
func ownLimitsRules() []specs.LinuxSyscall {
	return []specs.LinuxSyscall{allowIf(eq(0, 0), "prlimit64")}
}

// spareInitRules allow scheduling changes of processes by pid, but not of the init, which has the analysis' id: without
// CPU time it would forward no SIGTERM, and die late. They do not allow them for all processes of an id or a group
// either, since these include the init. Threads have ids too, so no other number can be refused.
func spareInitRules() []specs.LinuxSyscall {
	rules := allowOthers(0, nil, "sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity")
	process := func(number uint64) []specs.LinuxSeccompArg { return []specs.LinuxSeccompArg{masked(0, low, number)} }
	return slices.Concat(rules,
		allowOthers(1, process(prioProcess), "setpriority"),
		allowOthers(1, process(ioprioProcess), "ioprio_set"))
}

// allowOthers allows calls whose argument is any process id but 1, if the conditions hold. A rule that refuses 1 would
// contradict one that allows the rest, so each rule allows the numbers that differ from 1 in one bit. Bits above those of
// process ids are ignored: the kernel sees the lower 32, and with any of the others there is no process.
func allowOthers(index uint, conditions []specs.LinuxSeccompArg, names ...string) []specs.LinuxSyscall {
	var rules []specs.LinuxSyscall
	for bit := range pidBits {
		differs := masked(index, 1<<bit, 1<<bit&^1) // 1 has only the lowest bit
		rules = append(rules, specs.LinuxSyscall{Names: names, Action: specs.ActAllow, Args: append(slices.Clone(conditions), differs)})
	}
	return rules
}

// hugePageRules reserve the machine's pool of huge pages for its intended users. Transparent ones are not in it.
func hugePageRules() []specs.LinuxSyscall {
	return []specs.LinuxSyscall{
		allowIf(unset(3, mapHugeTLB), "mmap"),
		allowIf(unset(1, mfdHugeTLB), "memfd_create"),
	}
}

func allowIf(arg specs.LinuxSeccompArg, names ...string) specs.LinuxSyscall {
	return rule(specs.LinuxSyscall{Action: specs.ActAllow}, arg, names...)
}

// allowIfAll allows a call if all conditions hold, each on another argument.
func allowIfAll(name string, args ...specs.LinuxSeccompArg) specs.LinuxSyscall {
	return specs.LinuxSyscall{Names: []string{name}, Action: specs.ActAllow, Args: args}
}

func refuse(errno uint, names ...string) specs.LinuxSyscall {
	return specs.LinuxSyscall{Names: names, Action: specs.ActErrno, ErrnoRet: &errno}
}

// rule applies action to calls whose argument matches.
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

// unset matches if no bit is set.
func unset(index uint, bits uint64) specs.LinuxSeccompArg { return masked(index, bits, 0) }

// masked matches if the masked argument has exactly these bits.
func masked(index uint, mask, bits uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: mask, ValueTwo: bits, Op: specs.OpMaskedEqual}
}
