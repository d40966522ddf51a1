/*
 * The filter of system calls comes compiled from the launcher: libcontainer would compile it anew for every container.
 * That this process itself has none until then is no hole: it is ours, and nothing of the analysis runs yet.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "report.h"
#include "sys.h"

int load_filter(void)
{
	struct sock_filter steps[BPF_MAXINSNS]; /* 32 KiB; only the program's pages are touched */
	struct sock_fprog program = { 0, steps };
	ssize_t n;

	while ((n = recv(REPORT_FD, steps, sizeof steps, MSG_TRUNC)) == -EINTR)
		;
	if (n < 0)
		return (int)n;
	if (n == 0 || (size_t)n > sizeof steps || n % sizeof *steps)
		return -EBADMSG;
	program.len = n / sizeof *steps;
	/* SPEC_ALLOW as libcontainer has it: before Linux 5.16 a filter without made its processes slow. */
	return (int)seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
}
