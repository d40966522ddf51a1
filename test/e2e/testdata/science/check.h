/*
 * TEST(name) { ... } defines a test, which passes when it returns. Each runs in a process of its own.
 * Reports like Python's unittest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct { const char *name; void (*run)(void); } tests[64];
static int count;

#define TEST(title)                                                                         \
	static void title(void);                                                            \
	__attribute__((constructor)) static void add_##title(void)                          \
	{                                                                                   \
		tests[count].name = #title;                                                 \
		tests[count++].run = title;                                                 \
	}                                                                                   \
	static void title(void)

#define CHECK(condition)                                                                    \
	do {                                                                                \
		errno = 0;                                                                  \
		if (!(condition)) {                                                         \
			fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno)); \
			_exit(1);                                                           \
		}                                                                           \
	} while (0)

int main(void)
{
	int i, status, failed = 0;

	for (i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			tests[i].run();
			exit(0);
		}
		waitpid(pid, &status, 0);
		fprintf(stderr, "%s ... %s\n", tests[i].name, status == 0 ? "ok" : "failed");
		failed |= status;
	}
	return failed != 0;
}
