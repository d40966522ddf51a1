/*
 * The library by which a template forks analyses (template.py, docs/adr/0038). It is loaded into whatever Python the root filesystem
 * has, with whatever C library, and needs none itself.
 *
 * An order of the supervisor comes with descriptors: the pidfd of a container's init, the analysis' three streams, its note and
 * its gate. A middle process joins the container's namespaces and forks; the child is in the container's PID namespace, and the
 * supervisor's as its parent, since the middle process ends at once. It shares the template's memory, so that memory is copied
 * once and not twice (vfork(2)). The fork is the C library's own, which knows what it must make new in a child.
 *
 * Nothing here is trusted: the supervisor proves from outside what has become of the child before the analysis begins.
 */
#include <linux/capability.h>
#include <linux/sched.h>

#include "../../container/initc/src/report.h"
#include "../../container/initc/src/sys.h"

enum { PIDFD, IN, OUT, ERR, NOTE, GATE, FILES };

/* struct order is what comes before the text. */
struct order {
	uint32_t uid, gid, umask;
};

struct request {
	struct order order;
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
	if (n < (ssize_t)sizeof r->order || (message.msg_flags & MSG_TRUNC) ||
	    rights.header.cmsg_len != offsetof(__typeof__(rights), fds) + sizeof rights.fds)
		return -EBADMSG;
	for (int i = 0; i < FILES; i++)
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
static long place(const int fds[FILES])
{
	static const int places[FILES] = { REPORT_FD, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, NOTE_FD, GATE_FD };
	long err = 0, above[FILES];

	for (int i = IN; i < FILES; i++) /* out of the way of each other */
		above[i] = fcntl(fds[i], F_DUPFD, GATE_FD + 1);
	for (int i = IN; i < FILES && err >= 0; i++)
		err = dup3((int)above[i], places[i], 0);
	close(REPORT_FD);
	CALL(close_range, GATE_FD + 1, ~0U, 0);
	return err;
}

/* become makes of the child what an analysis is at its start. */
static long become(const struct request *r)
{
	long err = place(r->fds);

	setsid();
	CALL(umask, r->order.umask);
	if (err >= 0)
		err = drop(&r->order);
	if (err >= 0)
		err = CALL(chdir, "/work");
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
		for (int i = 0; i < FILES; i++)
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
