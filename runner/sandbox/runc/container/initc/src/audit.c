/*
 * The audit's filter of system calls. It asks before connect(2), before sendto(2) with an address, and before
 * sockets of families that are not allowed (seccomp_unotify(2)); runner/sandbox/runc/unotify answers.
 *
 * It is a filter of its own, and not a part of libcontainer's, for a flag that libseccomp has only from 2.6 on:
 * a process that waits for an answer can be killed, but not interrupted (Linux 5.19). An interrupted connect(2)
 * reads as one that goes on, and Python then takes the socket for connected.
 *
 * It opens nothing. What libcontainer's filter kills or fails stays so, since that takes precedence over a
 * question (seccomp(2)); calls of other architectures are among it. Families it traces, over which the question takes
 * precedence: where no process listens, they fail with ENOSYS.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "report.h"
#include "sys.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the halves of an argument are the other way round here"
#endif

/* The halves of a 64-bit argument; the kernel takes an int where it wants one, and the filter sees all. */
#define LOW(argument) (offsetof(struct seccomp_data, args) + 8 * (argument))
#define HIGH(argument) (LOW(argument) + 4)

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
/* IF compares what was loaded. at is its own place, yes and no are the places to go on at. */
#define IF(at, value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes) - (at) - 1, (no) - (at) - 1)

enum { ADDRESS = 5, FAMILY = 9, PAIR = 15, ASK = 19, ALLOW = 20 };

static const struct sock_filter filter[] = {
	LOAD(offsetof(struct seccomp_data, nr)),
	IF(1, __NR_connect, ASK, 2),
	IF(2, __NR_sendto, ADDRESS, 3),
	IF(3, __NR_socket, FAMILY, 4),
	IF(4, __NR_socketpair, PAIR, ALLOW),
	[ADDRESS] = LOAD(LOW(4)),
	IF(6, 0, 7, ASK),
	LOAD(HIGH(4)),
	IF(8, 0, ALLOW, ASK),
	[FAMILY] = LOAD(HIGH(0)),
	IF(10, 0, 11, ASK),
	LOAD(LOW(0)),
	IF(12, AF_UNIX, ALLOW, 13),
	IF(13, AF_INET, ALLOW, 14),
	IF(14, AF_INET6, ALLOW, ASK),
	[PAIR] = LOAD(HIGH(0)),
	IF(16, 0, 17, ASK),
	LOAD(LOW(0)),
	IF(18, AF_UNIX, ALLOW, ASK),
	[ASK] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	[ALLOW] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static int install(void)
{
	struct sock_fprog program = { sizeof filter / sizeof *filter, (struct sock_filter *)filter };
	/* SPEC_ALLOW as libcontainer has it: before Linux 5.16 a filter without made its processes slow. */
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	long fd = seccomp(SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);

	if (fd == -EINVAL)
		fd = seccomp(SECCOMP_SET_MODE_FILTER, flags, &program);
	return (int)fd;
}

int audit(void)
{
	int err, fd = install();

	if (fd < 0)
		return fd;
	err = report_descriptor(AUDITED, 0, fd);
	if (err)
		return err;
	/* The supervisor's is now the only one: when it is gone, the kernel answers ENOSYS. */
	return (int)close(fd);
}
