/*
 * scidex-init is PID 1 of a container. It starts the analysis as its child, so that a signal the
 * analysis sends to itself has its usual effect (the kernel drops signals that PID 1 sends to itself
 * and has no handler for, pid_namespaces(7)), reaps whatever is orphaned, passes signals of the
 * supervisor on, and reports what became of execve(2) and of the child (report.h).
 *
 *   scidex-init [--audit] [--trace] [--ahead=NAME=VALUE]... [--data=BYTES] [--nofile=COUNT] [--nproc=COUNT]
 *               [--read=PATH]... [--write=PATH]... [--use=PATH]... -- COMMAND [ARG...]
 *
 * --data, --nofile and --nproc are rlimits of the analysis (getrlimit(2)). They are set here and not by libcontainer,
 * whose own init would run under them too and needs more than an analysis may have. With --audit the
 * supervisor is asked before certain calls (audit.c). With --trace it reports how far it is before the analysis begins.
 *
 * --read, --write and --use say below which paths the analysis may read, write, and use devices: by Landlock it reaches nothing else
 * (landlock.c). Where the kernel has none, the walls of the container stand alone; RULED says which it is.
 *
 * With --ahead it starts a Python interpreter before the analysis may begin, with these variables besides, by which it imports
 * modules and waits (runner/preload). The supervisor answers with a byte when the analysis may begin: PASS lets the
 * interpreter go on; ANEW kills it, and the command is started without the variables, as if there had been nothing before.
 *
 * Before all else it loads the analysis' filter of system calls, under which it is then itself (filter.c). The
 * analysis cannot report: the socket is closed in the child before execve(2), and this process is not dumpable, so that
 * /proc/1/fd and ptrace(2) are closed to it.
 *
 * It has no C library (sys.h): the start of one takes longer than all that is done here (docs/adr/0002).
 */
#include "report.h"
#include "sys.h"

/* after returns what follows the prefix in s, or NULL where s begins otherwise. */
static const char *after(const char *s, const char *prefix)
{
	for (; *prefix; s++, prefix++)
		if (*s != *prefix)
			return NULL;
	return s;
}

static const char *path_of(char **envp)
{
	const char *path = NULL;

	for (; *envp && !path; envp++)
		path = after(*envp, "PATH=");
	return path;
}

/*
 * not_elf returns 0 where a file is a program, and no script that may execute Python as it likes; else an errno: ENOEXEC where the search
 * must not go on, since execve(2) might execute the file.
 */
static int not_elf(const char *path)
{
	char magic[4] = { 0 };
	long fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? (int)-fd : ENOEXEC;
	read((int)fd, magic, sizeof magic);
	close((int)fd);
	return memcmp(magic, "\177ELF", sizeof magic) ? ENOEXEC : 0;
}

/* Every error execve(2) may give for one directory of PATH while another may still have the command. */
static int try_next(int err)
{
	return err == ENOENT || err == ENOTDIR || err == EACCES || err == ELOOP || err == ENAMETOOLONG;
}

/* join makes directory/name, and returns 0 where no path may be so long. len is the directory's. */
static int join(char full[PATH_MAX], const char *directory, size_t len, const char *name)
{
	size_t rest = strlen(name) + 1;

	if (len + 1 + rest > PATH_MAX)
		return 0;
	memcpy(full, directory, len);
	full[len] = '/';
	memcpy(full + len + 1, name, rest);
	return 1;
}

/* run executes a program; with elf nothing else. */
static int run(const char *path, char **argv, char **envp, int elf)
{
	int err = elf ? not_elf(path) : 0;

	return err ? err : (int)-execve(path, argv, envp);
}

/*
 * search executes argv[0] as execvp(3) finds it, but never falls back to a shell for a file without
 * a known format: that would hide ENOEXEC. It returns the errno to report; EACCES wins over ENOENT.
 */
static int search(char **argv, char **envp, int elf)
{
	const char *path = path_of(envp);
	char full[PATH_MAX];
	int err = ENOENT;

	if (strchr(argv[0], '/'))
		return run(argv[0], argv, envp, elf);
	while (path && *path) {
		const char *colon = strchr(path, ':');
		size_t len = colon ? (size_t)(colon - path) : strlen(path);
		if (len > 0 && join(full, path, len, argv[0])) {
			int now = run(full, argv, envp, elf);
			if (!try_next(now))
				return now;
			if (now == EACCES)
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

/* bound is a limit of the command line. */
struct bound {
	int given;
	uint64_t value; /* RLIM64_INFINITY is the greatest */
};

enum { MOST_AHEAD = 3 };

struct options {
	struct bound data, nofile, nproc;
	int audit, terminal, trace;
	char *ahead[MOST_AHEAD]; /* NULL where there are fewer */
	struct reach reach;
	struct rules rules; /* of reach */
};

/* read_bound returns 0 where text is no decimal number of 64 bits. */
static int read_bound(const char *text, struct bound *b)
{
	const char *digit = text;
	uint64_t n = 0;

	for (; *digit >= '0' && *digit <= '9'; digit++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *digit - '0', &n))
			return 0;
	b->given = 1;
	b->value = n;
	return digit > text && !*digit;
}

/* read_place returns 0 where an option is none, or one too many. */
static int read_place(const char *option, struct reach *r)
{
	static const char *const names[] = { [READ] = "--read=", [WRITE] = "--write=", [USE] = "--use=" };

	for (enum may may = READ; may <= USE; may++) {
		const char *path = after(option, names[may]);
		if (path && *path == '/' && r->count < MOST_PLACES) {
			r->places[r->count++] = (struct place){ may, path };
			return 1;
		}
	}
	return 0;
}

/* read_options reads argv up to "--" and returns the index of the command, or 0. */
static int read_options(int argc, char **argv, struct options *o)
{
	const char *text;
	int i, n = 0;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if ((text = after(argv[i], "--data="))) {
			if (!read_bound(text, &o->data))
				return 0;
		} else if ((text = after(argv[i], "--nofile="))) {
			if (!read_bound(text, &o->nofile))
				return 0;
		} else if ((text = after(argv[i], "--nproc="))) {
			if (!read_bound(text, &o->nproc))
				return 0;
		} else if ((text = after(argv[i], "--ahead="))) {
			if (n == MOST_AHEAD)
				return 0;
			o->ahead[n++] = (char *)text;
		} else if (!strcmp(argv[i], "--audit")) {
			o->audit = 1;
		} else if (!strcmp(argv[i], "--terminal")) {
			o->terminal = 1;
		} else if (!strcmp(argv[i], "--trace")) {
			o->trace = 1;
		} else if (!read_place(argv[i], &o->reach)) {
			return 0;
		}
	return i + 1 < argc ? i + 1 : 0;
}

/* limit sets a bound for this process, where one is given. It returns 0 or an errno. */
static int limit(int resource, const struct bound *b)
{
	struct rlimit64 l = { b->value, b->value };

	return b->given ? (int)-setrlimit(resource, &l) : 0;
}

/* keep gives the child the gate, and lets it keep the note. */
static void keep(int gate)
{
	fcntl(NOTE_FD, F_SETFD, 0);
	if (gate == GATE_FD)
		fcntl(gate, F_SETFD, 0);
	else
		dup3(gate, GATE_FD, 0);
}

/* restricted binds the child to the rules. */
static int restricted(const struct rules *rules)
{
	int err = -keep_rules(rules);

	if (err)
		report(UNRULED, err);
	return err;
}

/* child becomes the analysis: its rules, limits, default signals, a session of its own, descriptors 0 to 2. gate is -1 but ahead. */
static void child(int failed, const struct options *o, int gate, char **argv, char **envp)
{
	int sig, err;

	for (sig = 1; sig <= LAST_SIGNAL; sig++)
		sigdefault(sig);
	sigsetmask(NO_SIGNALS);
	setsid();
	err = restricted(&o->rules);
	close(REPORT_FD);
	if (gate >= 0)
		keep(gate);
	if (!err && o->terminal)
		err = (int)-ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	if (!err)
		err = limit(RLIMIT_DATA, &o->data);
	if (!err)
		err = limit(RLIMIT_NOFILE, &o->nofile);
	if (!err)
		err = limit(RLIMIT_NPROC, &o->nproc);
	if (!err)
		err = search(argv, envp, gate >= 0);
	if (gate >= 0)
		write(NOTE_FD, "hook", 5); /* with its NUL: nothing of the script was executed (runner/preload) */
	while (write(failed, &err, sizeof err) == -EINTR)
		;
	_exit(127);
}

/* started waits until the child has executed the command and returns 0, or the errno that stopped it. */
static int started(int failed)
{
	int err = 0;
	ssize_t n;

	while ((n = read(failed, &err, sizeof err)) == -EINTR)
		;
	close(failed);
	return n == (ssize_t)sizeof err ? err : 0;
}

/* begin forks the child. It returns its pid or -errno, and in failed what started reads. */
static long begin(int *failed, const struct options *o, int gate, char **argv, char **envp)
{
	int fds[2];
	long pid = pipe2(fds, O_CLOEXEC);

	if (pid < 0)
		return pid;
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		child(fds[1], o, gate, argv, envp);
	}
	close(fds[1]);
	*failed = fds[0];
	return pid;
}

static size_t count(char **list)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

/* begin_ahead is begin with the variables of --ahead. */
static long begin_ahead(int *failed, const struct options *o, int gate, char **argv, char **envp)
{
	size_t n = count(envp);
	char *env[n + MOST_AHEAD + 1];

	memcpy(env, envp, n * sizeof *env);
	memcpy(env + n, o->ahead, sizeof o->ahead);
	env[n + MOST_AHEAD] = NULL;
	return begin(failed, o, gate, argv, env);
}

/* reap collects every dead child and returns 1 with the status once the analysis is among them. */
static int reap(long analysis, int *status)
{
	int s, ended = 0;
	long pid;

	while ((pid = waitpid(-1, &s, WNOHANG | __WALL)) > 0)
		if (pid == analysis) {
			*status = s;
			ended = 1;
		}
	return ended;
}

/*
 * stop_rest stops whatever the analysis has left in the PID namespace, and returns 0 where that is nothing. Outside of one, in
 * tests, others would be stopped.
 */
static int stop_rest(void)
{
	return getpid() == 1 && kill(-1, SIGSTOP) != -ESRCH;
}

/* kill_rest kills whatever is left in the PID namespace, and waits for its end. */
static void kill_rest(void)
{
	long pid;

	if (getpid() == 1)
		kill(-1, SIGKILL);
	while ((pid = waitpid(-1, NULL, __WALL)) > 0 || pid == -EINTR)
		;
}

/*
 * start_ahead starts the command ahead of its time, and returns when the analysis may begin, as begin does. What had to be
 * given up is dead then, and the command started anew.
 */
static long start_ahead(int *failed, const struct options *o, char **argv, char **envp)
{
	int gate[2];
	long pid = pipe2(gate, O_CLOEXEC);

	if (pid < 0)
		return pid;
	pid = begin_ahead(failed, o, gate[0], argv, envp);
	close(NOTE_FD);
	if (heard() == PASS) {
		write(gate[1], "", 1);
	} else if (pid > 0) {
		close(*failed);
		kill_rest();
		pid = begin(failed, o, -1, argv, envp);
	}
	close(gate[0]);
	close(gate[1]);
	return pid;
}

/* finish reports the end of the analysis. The kernel kills what is left of the namespace when this process ends. */
static int finish(int status)
{
	usage();
	report(ENDED, status);
	if (stop_rest()) {
		report(LEFT, 0);
		heard();
	}
	return 0;
}

/* rule makes the rules and reports them. It returns 0 where they are not to be had. */
static int rule(struct options *o)
{
	int err = make_rules(&o->reach, &o->rules);

	if (err) {
		report(UNRULED, -err);
		return 0;
	}
	report(RULED, o->rules.version);
	return 1;
}

int main(int argc, char **argv, char **envp)
{
	int failed, status = 0, command, err;
	struct options o = { .rules = { .fd = -1 } };
	siginfo_t info;
	long analysis;

	command = read_options(argc, argv, &o);
	if (!command)
		return 125;
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || fcntl(REPORT_FD, F_SETFD, FD_CLOEXEC) < 0)
		return 125;
	if (o.ahead[0] && fcntl(NOTE_FD, F_SETFD, FD_CLOEXEC) < 0)
		return 125;
	if (o.trace)
		report(BEGUN, 0);
	err = load_filter();
	if (err) {
		report(OPEN, -err);
		return 125;
	}
	if (o.trace)
		report(FILTERED, 0);
	if (sigsetmask(ALL_SIGNALS) < 0)
		return 125;
	err = o.audit ? audit() : 0;
	if (err) {
		report(UNHEARD, -err);
		return 125;
	}
	if (o.reach.count && !rule(&o))
		return 125;
	if (o.ahead[0])
		analysis = start_ahead(&failed, &o, argv + command, envp);
	else
		analysis = begin(&failed, &o, -1, argv + command, envp);
	if (analysis < 0) {
		report(REFUSED, (int32_t)-analysis);
		return 125;
	}
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	err = started(failed);
	if (err) {
		report(REFUSED, err);
		return 125;
	}
	report(EXECUTED, 0);

	for (;;) {
		long sig = sigwaitinfo(ALL_SIGNALS, &info);
		if (sig == SIGCHLD && reap(analysis, &status))
			return finish(status);
		/* si_pid is 0 for a sender outside of this namespace: the supervisor alone. */
		if (sig > 0 && sig != SIGCHLD && info.si_pid == 0 && info.si_code == SI_USER)
			kill(-1, sig == SIGTSTP ? SIGSTOP : (int)sig); /* that of a terminal could be ignored */
	}
}
