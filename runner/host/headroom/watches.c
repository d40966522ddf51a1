/*
 * The Go runtime aborts with a trace where it cannot add its first watch to epoll(7), which it needs for any file or timer. The
 * kernel counts watches for each user id (fs.epoll.max_user_watches), so an analysis that has its caller's id can hold them all.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* none_left reports whether the user can add no watch. Go reports any other error itself. */
static int none_left(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(EPOLL_CLOEXEC), fd = eventfd(0, EFD_CLOEXEC);
	int none = epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) && errno == ENOSPC;

	close(fd);
	close(set);
	return none;
}

__attribute__((constructor)) static void check(void)
{
	if (!none_left())
		return;
	fprintf(stderr,
		"scidex-oci: no epoll watches are left for this user (fs.epoll.max_user_watches), and an analysis that runs with the user's own id "
		"(--ids self) may hold them: find its launcher with \"pgrep -a -u %u scidex-oci\" and end it with \"kill -TERM PID\", or raise the limit "
		"as root with sysctl\n",
		geteuid());
	_exit(125);
}
