/*
 * For attack programs in C. A program is a list of tries and
 *
 *	int main(int argc, char **argv) { return attack(argc, argv, tries, sizeof tries / sizeof *tries); }
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* TRY(mount) { return mount(...); } */
#define TRY(name) static long try_##name(__attribute__((unused)) long with)

/*
 * A try succeeds if its call does not fail, or fails with the error that tells that the kernel took the
 * call up and looked at its arguments: so also calls that nobody should really make can be tried. 0 where
 * there is none.
 */
struct try {
	const char *name;
	long (*call)(long with);
	int reached;
	long with;
};

/* A name that is made of numbers. */
__attribute__((unused, format(printf, 1, 2))) static const char *name(const char *format, ...)
{
	char *text;
	va_list list;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		abort();
	va_end(list);
	return text;
}

static const char *told;

/* What the program was told under the name, as text; "" if nothing. */
__attribute__((unused)) static const char *arena(const char *name)
{
	static char value[4096];
	char key[64];
	const char *found;
	size_t n;

	snprintf(key, sizeof key, "\"%s\":", name);
	found = strstr(told, key);
	if (!found)
		return "";
	found += strlen(key);
	found += *found == '"';
	n = strcspn(found, "\",}");
	if (n >= sizeof value)
		abort();
	memcpy(value, found, n);
	value[n] = 0;
	return value;
}

/* Each call has a process of its own: what one changes, the next does not see. */
static const char *verdict(const struct try *t)
{
	static char text[32];
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(20);
		errno = 0;
		_exit(t->call(t->with) < 0 && errno != t->reached ? errno : 0);
	}
	if (waitpid(pid, &status, 0) < 0)
		return "lost";
	if (WIFSIGNALED(status))
		snprintf(text, sizeof text, "SIG%s", sigabbrev_np(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == 0)
		return "ok";
	else
		snprintf(text, sizeof text, "%s", strerrorname_np(WEXITSTATUS(status)));
	return text;
}

static int attack(int argc, char **argv, const struct try *tries, size_t n)
{
	size_t i;

	told = argc > 1 ? argv[1] : "";
	printf("{");
	fflush(stdout); /* a child must not have it too */
	for (i = 0; i < n; i++) {
		printf("%s\"%s\": \"%s\"", i ? ", " : "", tries[i].name, verdict(&tries[i]));
		fflush(stdout);
	}
	printf("}\n");
	return 0;
}
