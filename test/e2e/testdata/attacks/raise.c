/*
 * Tries to get back what was taken: capabilities, limits, a priority, a better chance with the kernel's
 * out-of-memory killer; by calls, and by executing a set-id program.
 *
 * item: 9
 * control root: capset*, ambient capability, realtime*, io realtime, new groups
 * control caller: raise CORE, lock 1 MiB of memory
 */
#include "lib/attack.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

TRY(capset)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	data[0].effective = data[0].permitted = data[0].inheritable = 1u << with;
	return syscall(SYS_capset, &header, data);
}
TRY(ambient)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	data[0].effective = data[0].permitted = data[0].inheritable = 1u << CAP_NET_ADMIN;
	syscall(SYS_capset, &header, data);
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_ADMIN, 0, 0);
}
/* In the bounding set is what a program could get at an exec. */
TRY(bounding)
{
	int i, found = 0;

	for (i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		found += prctl(PR_CAPBSET_READ, i, 0, 0, 0);
	errno = EPERM;
	return found ? 0 : -1;
}

/* The soft limit upwards: to the hard one outside, beyond it inside, where both are the same. */
TRY(raise)
{
	struct rlimit limit;

	getrlimit(with, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		return 0;
	limit.rlim_cur++;
	if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < limit.rlim_cur)
		limit.rlim_max = limit.rlim_cur;
	return setrlimit(with, &limit);
}
/*
 * A dump that goes to a program of the host's, which runs as its root (core(5), a pattern that begins with
 * a bar), is not bounded by the limit, unless it is 1 (fs/coredump.c).
 */
TRY(dump)
{
	struct rlimit limit;

	getrlimit(RLIMIT_CORE, &limit);
	errno = EPERM;
	return limit.rlim_cur == 1 && limit.rlim_max == 1 ? -1 : 0;
}
TRY(mlock)
{
	void *page = mmap(0, with, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return mlock(page, with);
}
TRY(score) { return dprintf(open("/proc/self/oom_score_adj", O_WRONLY), "0") < 0 ? -1 : 0; }
TRY(realtime) { struct sched_param one = { 1 }; return sched_setscheduler(0, with, &one); }
TRY(io_realtime) { return syscall(SYS_ioprio_set, 1, 0, 1 << 13); }
TRY(groups) { gid_t group = 12345; return syscall(SYS_setgroups, 1, &group); }

/* Its status says whose rights it has, while it waits for somebody to read what it says of itself. */
static long other_rights(pid_t pid)
{
	char line[256];
	long real, effective, found = -1;
	FILE *status = fopen(name("/proc/%d/status", pid), "r");

	while (status && fgets(line, sizeof line, status))
		if ((sscanf(line, "Uid: %ld %ld", &real, &effective) == 2 || sscanf(line, "Gid: %ld %ld", &real, &effective) == 2) &&
		    real != effective)
			found = 0;
	return found;
}
TRY(set_id)
{
	static const char *const programs[] = { "/usr/bin/su", "/usr/bin/passwd", "/usr/bin/chage", "/usr/bin/expiry", "/usr/bin/mount" };
	size_t i;
	long found = -1;
	int ends[2];

	for (i = 0; found && i < sizeof programs / sizeof *programs; i++) {
		pid_t pid;
		if (pipe(ends) < 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0)
			return -1;
		while (write(ends[1], "x", 1) == 1)
			;
		fcntl(ends[1], F_SETFL, 0);
		pid = fork();
		if (pid == 0) {
			dup2(ends[1], 1);
			dup2(ends[1], 2);
			execl(programs[i], programs[i], "--help", (char *)NULL);
			_exit(127);
		}
		usleep(200000);
		found = other_rights(pid);
		kill(pid, SIGKILL);
	}
	errno = EPERM;
	return found;
}

static const struct try tries[] = {
	{ "capset of CAP_SYS_ADMIN", try_capset, 0, CAP_SYS_ADMIN },
	{ "capset of CAP_DAC_OVERRIDE", try_capset, 0, CAP_DAC_OVERRIDE },
	{ "capset of CAP_CHOWN", try_capset, 0, CAP_CHOWN },
	{ "ambient capability", try_ambient, 0, 0 },
	{ "bounding set", try_bounding, 0, 0 },
	{ "raise CORE", try_raise, 0, RLIMIT_CORE },
	{ "a core dump for the host", try_dump, 0, 0 },
	{ "lock 1 MiB of memory", try_mlock, 0, 1 << 20 },
	{ "oom_score_adj", try_score, 0, 0 },
	{ "realtime FIFO", try_realtime, 0, SCHED_FIFO },
	{ "realtime RR", try_realtime, 0, SCHED_RR },
	{ "io realtime", try_io_realtime, 0, 0 },
	{ "new groups", try_groups, 0, 0 },
	{ "a set-id program", try_set_id, 0, 0 },
};

int main(int argc, char **argv) { return attack(argc, argv, tries, sizeof tries / sizeof *tries); }
