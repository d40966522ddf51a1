package spec

import "github.com/opencontainers/runtime-spec/specs-go"

const (
	afNetlink = 16

	// writes are the flags of openat(2) with which a file can be changed or made.
	writes      = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20000000 // O_ACCMODE|O_CREAT|O_TRUNC|O_APPEND|__O_TMPFILE
	cloneThread = 0x10000                                    // CLONE_THREAD
)

// proxyCalls are the calls that a Go server needs, without those that have conditions.
var proxyCalls = []string{
	"read", "write", "readv", "writev", "close", "fstat", "newfstatat", "lseek", "pread64", "getdents64", "readlinkat",
	"mmap", "mprotect", "munmap", "madvise", "mremap", "brk", "mincore",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "tgkill",
	"futex", "sched_yield", "sched_getaffinity", "nanosleep", "clock_nanosleep", "clock_gettime", "gettimeofday", "restart_syscall",
	"epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait", "eventfd2", "pipe2", "fcntl", "getrandom", "uname",
	"accept4", "bind", "connect", "getsockname", "getpeername", "getsockopt", "setsockopt", "shutdown", "sendto", "recvfrom", "sendmsg", "recvmsg",
	"exit", "exit_group", "getpid", "gettid", "rseq", "set_robust_list", "membarrier", "getrlimit",
}

// ProxyFilter is the seccomp filter of the proxy of a run (runner/egress/confine). It executes nothing, changes no file, steers no other
// process, and has sockets of the Internet and, to list this host's addresses, of netlink.
func ProxyFilter(arch string, _ bool) (*specs.LinuxSeccomp, error) {
	profile, err := base(arch)
	if err != nil {
		return nil, err
	}
	profile.Syscalls = []specs.LinuxSyscall{
		{Names: proxyCalls, Action: specs.ActAllow},
		allowIf(eq(0, afInet), "socket"), allowIf(eq(0, afInet6), "socket"),
		allowIfAll("socket", eq(0, afNetlink), eq(2, 0)), // NETLINK_ROUTE
		allowIf(unset(2, writes), "openat"),
		allowIf(eq(0, 0), "prlimit64"),
		allowIf(masked(0, cloneThread, cloneThread), "clone"),
		refuse(enosys, "clone3"),
	}
	return profile, nil
}
