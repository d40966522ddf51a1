/*
 * The library by which a template forks analyses (template.py, docs/adr/0038). It is loaded into whatever Python the root filesystem
 * has, with whatever C library, and needs none itself.
 *
 * An order of the supervisor comes with descriptors: the pidfd of a container's init, the analysis' three streams, its note and
 * its gate, and where the kernel has Landlock the rules that this init has made. A middle process joins the container's
 * namespaces and forks; the child is in the container's PID namespace, and the supervisor's as its parent, since the middle process
 * ends at once. It shares the template's memory, so that memory is copied once and not twice (vfork(2)). The fork is the C library's own, which knows what it must make new in a child.
 *
 * Nothing here is trusted: the supervisor proves from outside what has become of the child before the analysis begins.
 */
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/sched.h>

#include "../../container/initc/src/landlock.h"
#include "../../container/initc/src/report.h"

enum { PIDFD, IN, OUT, ERR, NOTE, GATE, RULES, FILES };

/* struct order is what comes before the text. */
struct order {
	uint32_t uid, gid, umask;
	int32_t landlock; /* the version; 0 where there are no rules */
};

struct request {
	struct order order;
	int count; /* of fds: FILES, or RULES where there are none */
	int fds[FILES];
};

/* receive returns the length of the text, 0 where no order follows, or -errno. */
static ssize_t receive(struct request *r, char *text, size_t size)
{
	struct iovec parts[] = { { &r->order, sizeof r->order }, { text, size } };
	struct {
		struct cmsghdr header;
		int fds[FILES];
	} rights;
	struct msghdr message = {
		.msg_iov = parts, .msg_iovlen = 2, .msg_control = &rights, .msg_controllen = sizeof rights,
	};
	ssize_t n;

	while ((n = CALL(recvmsg, CONTROL_FD, &message, 0)) == -EINTR)
		;
	if (n <= 0)
		return n;
	r->count = (int)((rights.header.cmsg_len - offsetof(__typeof__(rights), fds)) / sizeof *rights.fds);
	if (n < (ssize_t)sizeof r->order || (message.msg_flags & MSG_TRUNC) || (r->count != FILES && r->count != RULES))
		return -EBADMSG;
	for (int i = 0; i < r->count; i++)
		r->fds[i] = rights.fds[i];
	return n - (ssize_t)sizeof r->order;
}

enum { EVERY_NAMESPACE = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP };

/* drop gives up ids and capabilities: a process that joins a user namespace of its owner has all of them. */
static long drop(const struct order *o)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 }, { 0, 0, 0 } };
	long err;

	for (long capability = 0; prctl(PR_CAPBSET_DROP, capability) == 0; capability++)
		;
	CALL(setgroups, 0, NULL); /* not allowed where only one id is mapped */
	err = CALL(setresgid, o->gid, o->gid, o->gid);
	if (!err)
		err = CALL(setresuid, o->uid, o->uid, o->uid);
	if (!err)
		err = CALL(capset, &header, none);
	if (!err)
		err = prctl(PR_SET_DUMPABLE, 1);
	return err;
}

/* place leaves the descriptors of the order in their places, and no others. */
static long place(const struct request *r)
{
	static const int places[FILES] = { REPORT_FD, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, NOTE_FD, GATE_FD, RULES_FD };
	long err = 0, above[FILES];

	for (int i = IN; i < r->count; i++) /* out of the way of each other */
		above[i] = fcntl(r->fds[i], F_DUPFD, RULES_FD + 1);
	for (int i = IN; i < r->count && err >= 0; i++)
		err = dup3((int)above[i], places[i], 0);
	close(REPORT_FD);
	CALL(close_range, places[r->count - 1] + 1, ~0U, 0);
	return err;
}

/*
 * keep_rules_of binds the child to the rules. The supervisor traces it from the byte on and wants these two calls, one after the
 * other: with a table of descriptors of its own no other process can exchange the rules.
 */
static long keep_rules_of(const struct request *r)
{
	char byte;
	long err;

	if (r->count != FILES)
		return 0;
	while ((err = read(GATE_FD, &byte, sizeof byte)) == -EINTR)
		;
	if (err != sizeof byte)
		return -EPIPE;
	err = CALL(close_range, RULES_FD + 1, ~0U, CLOSE_RANGE_UNSHARE);
	if (!err)
		err = landlock_restrict(RULES_FD, r->order.landlock);
	close(RULES_FD);
	return err;
}

/* become makes of the child what an analysis is at its start. */
static long become(const struct request *r)
{
	long err = place(r);

	setsid();
	CALL(umask, r->order.umask);
	if (err >= 0)
		err = drop(&r->order);
	if (err >= 0)
		err = CALL(chdir, "/work");
	if (err >= 0)
		err = keep_rules_of(r);
	return err;
}

/* joined is the middle process. Only the child returns. */
static __attribute__((noinline)) long joined(const struct request *r, long (*fork)(void), volatile long *child)
{
	*child = CALL(setns, r->fds[PIDFD], EVERY_NAMESPACE);
	if (*child == 0) {
		long pid = fork();
		if (pid == 0)
			return 0;
		*child = pid;
	}
	_exit(0);
}

static void reply(long child)
{
	int32_t answer = (int32_t)child;

	while (write(CONTROL_FD, &answer, sizeof answer) == -EINTR)
		;
}

/* scidex_serve obeys orders. It returns in the child of one, with the length of its text in text; -errno where that fails. */
__attribute__((visibility("default"))) long scidex_serve(long (*fork)(void), char *text, size_t size)
{
	struct request r;
	ssize_t n;

	while ((n = receive(&r, text, size)) > 0) {
		volatile long child = -ECHILD;
		long middle = CALL(clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
		if (middle == 0 && joined(&r, fork, &child) == 0) {
			long err = become(&r);
			return err < 0 ? err : n;
		}
		for (int i = 0; i < r.count; i++)
			close(r.fds[i]);
		if (middle > 0)
			waitpid((pid_t)middle, NULL, __WALL);
		reply(middle > 0 ? child : middle);
	}
	_exit(0);
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/*
 * scidex_audit is an audit hook of Python (PySys_AddAuditHook) for the end of a script that has succeeded: when all is taken apart that a
 * script can see, Python would still write to each string that the template has interned, and so copy its page.
 */
__attribute__((visibility("default"))) int scidex_audit(const char *event, void *args, void (*exit)(int))
{
	(void)args;
	if (same(event, "cpython.PyInterpreterState_Clear"))
		exit(0);
	return 0;
}

static int leaving;

/* scidex_leave has scidex_exited end the process. */
__attribute__((visibility("default"))) void scidex_leave(void) { leaving = 1; }

/*
 * scidex_exited is called by the C library's exit (on_exit(3)), after what the script has registered and before what the template's
 * libraries have: these would free memory piece by piece.
 */
__attribute__((visibility("default"))) void scidex_exited(int status, int (*flush)(void *))
{
	if (!leaving)
		return;
	flush(NULL);
	_exit(status);
}
