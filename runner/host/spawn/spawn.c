#define _GNU_SOURCE
#include "spawn.h"

#include <errno.h>
#include <limits.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK = 64 << 10 };

/* Nanoseconds; what the kernel gives its first process (PR_SET_TIMERSLACK(2const)). */
enum { TIMER_SLACK = 50000 };

/* personality(2) with this asks for what there is. */
enum { AS_IS = 0xffffffff };

/*
 * All that follows up to enter() is done by a process that shares the memory of another, which has threads: no lock, no
 * allocation, and none of the functions that libc does for all threads of a process, such as setresuid(3), which would
 * signal those of the caller. errno is the thread's that has cloned it, and which does nothing meanwhile that reads it.
 */

/* As execve does. A handler is the caller's, and must not run here. */
static void reset_handlers(void)
{
	struct sigaction action;
	int sig;

	for (sig = 1; sig < _NSIG; sig++) {
		if (sigaction(sig, NULL, &action) || action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL)
			continue;
		action.sa_handler = SIG_DFL;
		action.sa_flags = 0;
		sigaction(sig, &action, NULL);
	}
}

static int wait_at_gate(struct spawn *s)
{
	ssize_t n;
	char byte;

	close(s->caller); /* else the end of the caller would not be heard */
	do
		n = read(s->gate, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static int become_root(void)
{
	return syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, 0, 0, 0) || syscall(SYS_setresuid, 0, 0, 0);
}

static int place_files(struct spawn *s)
{
	int i;

	for (i = 0; i < s->n; i++)
		if (dup2(s->files[i], i) < 0) /* without close-on-exec */
			return -1;
	return 0;
}

/*
 * What the caller inherited and did not open itself may lack close-on-exec: a shell's "9<secret", the log of a batch system.
 * Linux 5.11; all that runs here needs 5.12.
 */
static int close_others(struct spawn *s)
{
	return syscall(SYS_close_range, s->n, UINT_MAX, CLOSE_RANGE_CLOEXEC);
}

/* What of the caller's only the process itself can reset; the rest is in ordinary.go. A container may refuse personality(2). */
static int reset_execution(void)
{
	int persona = personality(AS_IS);

	if (persona != -1 && persona != PER_LINUX && personality(PER_LINUX) < 0)
		return -1;
	return prctl(PR_SET_TIMERSLACK, TIMER_SLACK, 0, 0, 0);
}

/* What of it fails is returned, with errno. */
static const char *prepare(struct spawn *s)
{
	if (setsid() < 0)
		return "setsid";
	if (s->root && become_root())
		return "become root";
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)) /* after the ids have changed, which clears it */
		return "prctl";
	if (chdir("/"))
		return "chdir";
	if (place_files(s))
		return "dup2";
	if (close_others(s))
		return "close_range";
	if (reset_execution())
		return "personality";
	if (sigprocmask(SIG_SETMASK, &s->mask, NULL))
		return "sigprocmask";
	return NULL;
}

static int enter(void *argument)
{
	static char *const none[] = { NULL };
	struct spawn *s = argument;

	reset_handlers();
	if (!wait_at_gate(s))
		_exit(0);
	s->step = prepare(s);
	if (!s->step) {
		execve(s->path, s->args, none);
		s->step = "execve";
	}
	s->error = errno;
	_exit(1);
}

pid_t spawn_clone(struct spawn *s, unsigned long namespaces)
{
	sigset_t all;
	pid_t pid;

	s->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (s->stack == MAP_FAILED) {
		s->stack = NULL;
		return -errno;
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &s->mask);
	pid = clone(enter, (char *)s->stack + STACK, CLONE_VM | (int)namespaces | SIGCHLD, s);
	if (pid < 0)
		pid = -errno;
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
	return pid;
}

void spawn_free(struct spawn *s)
{
	char **arg;

	if (s->stack)
		munmap(s->stack, STACK);
	for (arg = s->args; arg && *arg; arg++)
		free(*arg);
	free(s->args);
	free((char *)s->path);
	free(s);
}
