/*
 * The Go runtime aborts with a trace of all that it does where it can make no thread, which it needs before main. So what
 * the kernel counts for RLIMIT_NPROC (setrlimit(2)) is counted here, before Go: the threads of all processes of the real
 * user id, and of the ids that its user namespaces map, where they count for the user who made the namespace.
 */
#define _GNU_SOURCE
#include "threads.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define OVERFLOW_UID 65534 /* user_namespaces(7) */

/* threads_of is how many threads a process has, by its stat file (proc_pid_stat(5)); the name in it may hold anything. */
static unsigned long threads_of(int proc, const char *pid)
{
	unsigned long threads = 0;
	char path[64], text[1024], *end = NULL;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.20s/stat", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	for (char *c = text; *c; c++)
		if (*c == ')')
			end = c;
	if (!end || sscanf(end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu", &threads) != 1)
		return 0;
	return threads;
}

unsigned long headroom_threads(unsigned int uid, unsigned int start, unsigned int count)
{
	unsigned long sum = 0;
	struct dirent *entry;
	struct stat st;
	DIR *dir = opendir("/proc");

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]) || fstatat(dirfd(dir), entry->d_name, &st, 0))
			continue;
		if (st.st_uid == uid || st.st_uid - start < count)
			sum += threads_of(dirfd(dir), entry->d_name);
	}
	closedir(dir);
	return sum;
}

static void check(void) __attribute__((constructor));

static void check(void)
{
	struct rlimit limit;
	unsigned long used;

	/* The kernel holds no limit for root. An id that its user namespace does not map seems to have all processes. Counting takes time. */
	if (!geteuid() || getuid() == OVERFLOW_UID || getrlimit(RLIMIT_NPROC, &limit) || limit.rlim_cur > HEADROOM_COUNTED)
		return;
	used = headroom_threads(getuid(), 0, 0);
	if (used + HEADROOM_GO <= limit.rlim_cur)
		return;
	fprintf(stderr,
		"scidex-oci: this user has %lu processes and threads, and may have %lu (RLIMIT_NPROC, see \"ulimit -u\"); "
		"this program takes %d more, a run %d and what --pids allows: raise the limit\n",
		used, (unsigned long)limit.rlim_cur, HEADROOM_GO, HEADROOM_RUN);
	_exit(125);
}
