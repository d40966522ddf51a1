/*
 * The Go runtime, which reserves address space before it runs any of the program, aborts with a trace under a low limit, and so does
 * the supervisor, in the middle of a run. A catalog that may not grow, or too few descriptors, fails only when something was
 * made. So the caller's limits (setrlimit(2)) are compared here, before Go, with the least under which runs were seen to work.
 */
#include "limits.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct needed {
	int resource;
	unsigned long long least;
	const char *what, *name, *option;
} all[] = {
	{ RLIMIT_AS, HEADROOM_SPACE, "bytes of address space", "RLIMIT_AS", "v" },
	{ RLIMIT_DATA, HEADROOM_DATA, "bytes of private memory", "RLIMIT_DATA", "d" },
	{ RLIMIT_STACK, HEADROOM_STACK, "bytes of stack", "RLIMIT_STACK", "s" },
	{ RLIMIT_FSIZE, HEADROOM_FILE, "bytes in a file", "RLIMIT_FSIZE", "f" },
	{ RLIMIT_NOFILE, HEADROOM_FILES, "open files", "RLIMIT_NOFILE", "n" },
};

__attribute__((constructor)) static void check(void)
{
	for (unsigned long i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct needed *n = &all[i];
		struct rlimit limit;
		unsigned long long may;

		if (getrlimit(n->resource, &limit))
			continue;
		may = n->resource == RLIMIT_NOFILE ? limit.rlim_max : limit.rlim_cur; /* Go raises that one */
		if (may >= n->least)
			continue;
		fprintf(stderr,
			"scidex-oci: this process may have %llu %s (%s), and this program takes up to %llu: raise the limit, with "
			"\"ulimit -%s unlimited\" or where it was set\n",
			may, n->what, n->name, n->least, n->option);
		_exit(125);
	}
}
