/*
 * Reaches for a process outside, which inside has no number, and for the process that reports how the
 * analysis ended, PID 1 of its container. Outside both are a process of the caller. Nothing is really
 * changed: values are written back as they were.
 *
 * item: 8
 * needs: victim
 * control kernel: *
 * control root: victim madvise, init madvise
 * inside EPERM: *
 * inside ESRCH: victim*
 * inside EBADF: victim pidfd*, victim madvise
 */
#include "lib/attack.h"
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static long victim, init;

static long pidfd(long pid) { return syscall(SYS_pidfd_open, pid, 0); }

/* Where the process has its stack, by what /proc says; what is not known is not mapped anyway. */
static void *stack_of(long pid)
{
	char line[512];
	unsigned long start = 4096;
	FILE *maps = fopen(name("/proc/%ld/maps", pid), "r");

	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "[stack]") && sscanf(line, "%lx", &start) == 1)
			break;
	return (void *)start;
}

static long touch(long call, long pid)
{
	char byte = 0;
	void *there = stack_of(pid);
	struct iovec here = { &byte, 1 }, remote = { there, 1 };

	return syscall(call, pid, &here, 1, &remote, 1, 0);
}

TRY(null_signal) { return kill(with, 0); }
TRY(signal) { return kill(with, SIGCONT); }
TRY(tkill) { return syscall(SYS_tkill, with, SIGCONT); }
TRY(tgkill) { return syscall(SYS_tgkill, with, with, SIGCONT); }
TRY(queue) { siginfo_t info = { .si_code = SI_QUEUE }; return syscall(SYS_rt_sigqueueinfo, with, SIGCONT, &info); }
TRY(pidfd_open) { return pidfd(with); }
TRY(pidfd_signal) { return syscall(SYS_pidfd_send_signal, pidfd(with), SIGCONT, 0, 0); }
TRY(pidfd_proc) { return syscall(SYS_pidfd_send_signal, open(name("/proc/%ld", with), O_DIRECTORY), SIGCONT, 0, 0); }
TRY(pidfd_getfd) { return syscall(SYS_pidfd_getfd, pidfd(with), 0, 0); }
TRY(seize) { return syscall(SYS_ptrace, PTRACE_SEIZE, with, 0, 0); }
TRY(vm_readv) { return touch(SYS_process_vm_readv, with); }
TRY(vm_writev)
{
	char byte = 0;
	struct iovec here = { &byte, 1 }, remote = { stack_of(with), 1 };

	if (syscall(SYS_process_vm_readv, with, &here, 1, &remote, 1, 0) < 0)
		return -1;
	return syscall(SYS_process_vm_writev, with, &here, 1, &remote, 1, 0);
}
TRY(vm_writev_blind) { return touch(SYS_process_vm_writev, with); }
TRY(kcmp) { return syscall(SYS_kcmp, getpid(), with, KCMP_FILES, 0, 0); }
TRY(madvise)
{
	struct iovec remote = { (void *)((long)stack_of(with) & -4096), 4096 };
	return syscall(SYS_process_madvise, pidfd(with), &remote, 1, MADV_COLD, 0);
}
TRY(prlimit) { struct rlimit old; return prlimit(with, RLIMIT_NOFILE, 0, &old); }
TRY(prlimit_set)
{
	struct rlimit old;
	return prlimit(with, RLIMIT_NOFILE, 0, &old) < 0 ? -1 : prlimit(with, RLIMIT_NOFILE, &old, 0);
}
TRY(getpriority) { errno = 0; getpriority(PRIO_PROCESS, with); return errno ? -1 : 0; }
TRY(setpriority) { errno = 0; return setpriority(PRIO_PROCESS, with, getpriority(PRIO_PROCESS, with)); }
TRY(ioprio) { return syscall(SYS_ioprio_set, 1, with, 0); }
TRY(scheduler) { struct sched_param none = { 0 }; return sched_setscheduler(with, SCHED_OTHER, &none); }
TRY(affinity)
{
	cpu_set_t set;
	return sched_getaffinity(with, sizeof set, &set) < 0 ? -1 : sched_setaffinity(with, sizeof set, &set);
}
TRY(getpgid) { return getpgid(with); }
TRY(robust_list) { void *head; size_t size; return syscall(SYS_get_robust_list, with, &head, &size); }
TRY(own) { return fcntl(open("/dev/null", O_RDONLY), F_SETOWN, with); }
TRY(move_pages) { return syscall(SYS_move_pages, with, 0, 0, 0, 0, 2); }

int main(int argc, char **argv)
{
	told = argc > 1 ? argv[1] : "";
	victim = atol(arena("victim"));
	init = atol(arena("init"));
	if (victim <= 0 || init <= 0)
		return 1;
	struct try tries[] = {
		{ "victim null signal", try_null_signal, 0, victim },
		{ "victim signal", try_signal, 0, victim },
		{ "victim tkill", try_tkill, 0, victim },
		{ "victim tgkill", try_tgkill, 0, victim },
		{ "victim queued signal", try_queue, 0, victim },
		{ "victim pidfd", try_pidfd_open, 0, victim },
		{ "victim pidfd signal", try_pidfd_signal, 0, victim },
		{ "victim pidfd by /proc", try_pidfd_proc, 0, victim },
		{ "victim pidfd_getfd", try_pidfd_getfd, 0, victim },
		{ "victim seize", try_seize, 0, victim },
		{ "victim vm_readv", try_vm_readv, 0, victim },
		{ "victim vm_writev", try_vm_writev, 0, victim },
		{ "victim kcmp", try_kcmp, 0, victim },
		{ "victim madvise", try_madvise, 0, victim },
		{ "victim prlimit", try_prlimit, 0, victim },
		{ "victim prlimit set", try_prlimit_set, 0, victim },
		{ "victim getpriority", try_getpriority, 0, victim },
		{ "victim setpriority", try_setpriority, 0, victim },
		{ "victim ioprio", try_ioprio, 0, victim },
		{ "victim scheduler", try_scheduler, 0, victim },
		{ "victim affinity", try_affinity, 0, victim },
		{ "victim getpgid", try_getpgid, 0, victim },
		{ "victim robust list", try_robust_list, 0, victim },
		{ "victim owner of signals", try_own, 0, victim },
		{ "victim move_pages", try_move_pages, ENODEV, victim },
		{ "init seize", try_seize, 0, init },
		{ "init pidfd_getfd", try_pidfd_getfd, 0, init },
		{ "init vm_readv", try_vm_readv, 0, init },
		{ "init vm_writev", try_vm_writev, 0, init },
		{ "init vm_writev blind", try_vm_writev_blind, 0, init },
		{ "init kcmp", try_kcmp, 0, init },
		{ "init prlimit", try_prlimit, 0, init },
		{ "init prlimit set", try_prlimit_set, 0, init },
		{ "init robust list", try_robust_list, 0, init },
		{ "init madvise", try_madvise, 0, init },
	};
	return attack(argc, argv, tries, sizeof tries / sizeof *tries);
}
