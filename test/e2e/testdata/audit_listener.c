/* Starts a program below a filter that has a listener already, so that the kernel gives no second one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	int fd = -1;

	if (argc < 2 || (geteuid() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) ||
	    (fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program)) < 0 ||
	    fcntl(fd, F_SETFD, 0) < 0) {
		perror(argv[0]);
		return 1;
	}
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
