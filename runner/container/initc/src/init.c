/*
 * scidex-init is PID 1 of a container. It starts the analysis as its child, so that a signal the
 * analysis sends to itself has its usual effect (the kernel drops signals that PID 1 sends to itself
 * and has no handler for, pid_namespaces(7)), reaps whatever is orphaned, passes signals of the
 * supervisor on, and reports what became of execve(2) and of the child (report.h).
 *
 *   scidex-init [--audit] [--data=BYTES] [--nproc=COUNT] -- COMMAND [ARG...]
 *
 * --data and --nproc are rlimits of the analysis (getrlimit(2)). They are set here and not by libcontainer,
 * whose own init would run under them too and needs more than an analysis may have. With --audit the
 * supervisor is asked before certain calls (audit.c).
 *
 * Before all else it loads the analysis' filter of system calls, under which it is then itself (filter.c). The
 * analysis cannot report: the socket is closed in the child before execve(2), and this process is not dumpable, so that
 * /proc/1/fd and ptrace(2) are closed to it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"

/* Every error execve(2) may give for one directory of PATH while another may still have the command. */
static int try_next(int err)
{
	return err == ENOENT || err == ENOTDIR || err == EACCES || err == ELOOP || err == ENAMETOOLONG;
}

/*
 * search executes argv[0] as execvp(3) finds it, but never falls back to a shell for a file without
 * a known format: that would hide ENOEXEC. It returns the errno to report; EACCES wins over ENOENT.
 */
static int search(char **argv, char **envp)
{
	const char *path = getenv("PATH");
	char full[PATH_MAX];
	int err = ENOENT;

	if (strchr(argv[0], '/')) {
		execve(argv[0], argv, envp);
		return errno;
	}
	while (path && *path) {
		size_t len = strcspn(path, ":");
		int n = snprintf(full, sizeof full, "%.*s/%s", (int)len, path, argv[0]);
		if (len > 0 && n > 0 && (size_t)n < sizeof full) {
			execve(full, argv, envp);
			if (!try_next(errno))
				return errno;
			if (errno == EACCES)
				err = EACCES;
		}
		path += len + (path[len] == ':');
	}
	return err;
}

/* usage reports what the analysis and its orphans used. */
static void usage(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_CHILDREN, &u) < 0)
		return;
	report(MAXRSS, (int32_t)u.ru_maxrss);
	report(CPU, (int32_t)((u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
			      (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000));
}

/* options of the command line; a limit is NULL where it is not given. */
struct options {
	const char *data, *nproc;
	int audit;
};

static int limit(int resource, const char *value)
{
	struct rlimit l;

	if (!value)
		return 0;
	l.rlim_cur = l.rlim_max = strtoull(value, NULL, 10); /* RLIM_INFINITY is the greatest */
	return setrlimit(resource, &l);
}

/* read_options reads argv up to "--" and returns the index of the command, or 0. */
static int read_options(int argc, char **argv, struct options *o)
{
	int i;

	o->data = o->nproc = NULL;
	o->audit = 0;
	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strncmp(argv[i], "--data=", 7))
			o->data = argv[i] + 7;
		else if (!strncmp(argv[i], "--nproc=", 8))
			o->nproc = argv[i] + 8;
		else if (!strcmp(argv[i], "--audit"))
			o->audit = 1;
		else
			return 0;
	return i + 1 < argc ? i + 1 : 0;
}

/* child becomes the analysis: its limits, default signals, a session of its own, descriptors 0 to 2. */
static void child(int failed, const struct options *o, char **argv, char **envp)
{
	sigset_t none;
	int sig, err = 0;

	for (sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	close(REPORT_FD);
	if (limit(RLIMIT_DATA, o->data) < 0 || limit(RLIMIT_NPROC, o->nproc) < 0)
		err = errno;
	if (!err)
		err = search(argv, envp);
	while (write(failed, &err, sizeof err) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* started waits until the child has executed the command and returns 0, or the errno that stopped it. */
static int started(int failed)
{
	int err = 0;
	ssize_t n;

	while ((n = read(failed, &err, sizeof err)) < 0 && errno == EINTR)
		;
	close(failed);
	return n == (ssize_t)sizeof err ? err : 0;
}

/* reap collects every dead child and returns 1 with the status once the analysis is among them. */
static int reap(pid_t analysis, int *status)
{
	int s, ended = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &s, WNOHANG | __WALL)) > 0)
		if (pid == analysis) {
			*status = s;
			ended = 1;
		}
	return ended;
}

int main(int argc, char **argv, char **envp)
{
	int failed[2], status = 0, command, err;
	struct options o;
	sigset_t all;
	siginfo_t info;
	pid_t analysis;

	command = read_options(argc, argv, &o);
	if (!command)
		return 125;
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || fcntl(REPORT_FD, F_SETFD, FD_CLOEXEC) < 0)
		return 125;
	if (load_filter() < 0) {
		report(OPEN, errno);
		return 125;
	}
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || pipe2(failed, O_CLOEXEC) < 0)
		return 125;
	if (o.audit && audit() < 0) {
		report(UNHEARD, errno);
		return 125;
	}
	analysis = fork();
	if (analysis < 0) {
		report(REFUSED, errno);
		return 125;
	}
	if (analysis == 0) {
		close(failed[0]);
		child(failed[1], &o, argv + command, envp);
	}
	close(failed[1]);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	err = started(failed[0]);
	if (err) {
		report(REFUSED, err);
		return 125;
	}
	report(EXECUTED, 0);

	for (;;) {
		int sig = sigwaitinfo(&all, &info);
		if (sig == SIGCHLD && reap(analysis, &status)) {
			usage();
			report(ENDED, status);
			return 0; /* the kernel now kills what is left of the namespace */
		}
		/* si_pid is 0 for a sender outside of this namespace: the supervisor, and nobody else. */
		if (sig > 0 && sig != SIGCHLD && info.si_pid == 0 && info.si_code == SI_USER)
			kill(-1, sig == SIGTSTP ? SIGSTOP : sig); /* that of a terminal could be ignored */
	}
}
