/*
 * A process in a new user namespace has no ids until newuidmap and newgidmap have mapped them, and capabilities only by an
 * execve after that (user_namespaces(7)). Until then it waits here, before Go starts: Go's runtime and the packages of the
 * program would be initialised for nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* As in unmapped.go, and the argument of a supervisor that says when it was executed (runner/sandbox/tracing.go). */
#define NAME "scidex-oci: waiting for id maps"
#define TRACE "trace="
enum { LAUNCHER = 3 };

/* It is executed now, and no longer when the launcher started this process. */
static void set_time(char *argument[])
{
	static char text[sizeof TRACE + 20];
	struct timespec now;

	if (!*argument || strncmp(*argument, TRACE, sizeof TRACE - 1) || clock_gettime(CLOCK_MONOTONIC, &now))
		return;
	snprintf(text, sizeof text, TRACE "%lld", now.tv_sec * 1000000000LL + now.tv_nsec);
	*argument = text;
}

__attribute__((constructor)) static void wait_for_maps(int argc, char **argv)
{
	char *none[] = { NULL };
	ssize_t n;
	char byte;

	if (argc < 2 || strcmp(argv[0], NAME))
		return;
	do
		n = read(LAUNCHER, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		_exit(0); /* the launcher is gone */
	if (n == 1) {
		set_time(argv + 2);
		execve("/proc/self/exe", argv + 1, none);
	}
	_exit(1);
}
