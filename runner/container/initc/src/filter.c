/*
 * The filter of system calls comes compiled from the launcher: libcontainer would compile it anew for every container.
 * That this process itself has none until then is no hole: it is ours, and nothing of the analysis runs yet.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "report.h"

int load_filter(void)
{
	static struct sock_filter steps[BPF_MAXINSNS];
	struct sock_fprog program = { 0, steps };
	ssize_t n;

	while ((n = recv(REPORT_FD, steps, sizeof steps, MSG_TRUNC)) < 0 && errno == EINTR)
		;
	if (n < 0)
		return -1;
	if (n == 0 || (size_t)n > sizeof steps || n % sizeof *steps) {
		errno = EBADMSG;
		return -1;
	}
	program.len = n / sizeof *steps;
	/* SPEC_ALLOW as libcontainer has it: before Linux 5.16 a filter without made its processes slow. */
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
}
