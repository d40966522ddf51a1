/*
 * Root of an ordinary container (Docker's, podman's) has no CAP_SYS_ADMIN, so it cannot clone mounts for its supervisor. It
 * may become root of a user namespace of its own, with the ids that it has now, and there it may clone them
 * (user_namespaces(7), "Capabilities"). The kernel allows that to any process that may map these ids. It gains nothing over
 * the mounts and the network of the container, nor over ids that it has not mapped.
 *
 * A process with threads cannot change its user namespace (unshare(2)), and Go has threads from its start. So this runs before
 * Go, as runc's nsexec does. On any other host it returns after one or two system calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(capability) (1ULL << (capability))

/* The capabilities that mapping any id takes, that of root included. */
#define TO_MAP (BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SETFCAP))

/* The kernel takes at most 340 lines of a map, and at most a page in one write. */
enum { MAP_SIZE = 4096 };

static unsigned long long effective(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return 0;
	return data[0].effective | (unsigned long long)data[1].effective << 32;
}

/* same reads a map and writes the identity map of the same ids. It returns its length, or 0 on an error. */
static size_t same(const char *path, char map[MAP_SIZE])
{
	unsigned long inside, outside, count;
	size_t length = 0;
	FILE *file = fopen(path, "re");

	if (!file)
		return 0;
	while (fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3) {
		int n = snprintf(map + length, MAP_SIZE - length, "%lu %lu %lu\n", inside, inside, count);

		if (n < 0 || (size_t)n >= MAP_SIZE - length) {
			length = 0;
			break;
		}
		length += n;
	}
	fclose(file);
	return length;
}

static int put(pid_t pid, const char *name, const char *map, size_t length)
{
	char path[64];
	int fd, failed;

	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	failed = write(fd, map, length) != (ssize_t)length;
	close(fd);
	return failed ? -1 : 0;
}

/* fail ends a process that is in a namespace without ids, where nothing works. */
static void fail(void)
{
	static const char text[] = "scidex-oci: the ids of this container could not be mapped to a user namespace of its own\n";

	if (write(2, text, sizeof text - 1) < 0)
		_exit(125);
	_exit(125);
}

/* The maps are written from outside of the namespace: by a child that stays outside until its parent is in. */
__attribute__((constructor)) static void enter(void)
{
	char uids[MAP_SIZE], gids[MAP_SIZE], byte = 0;
	size_t uid_length, gid_length;
	int in[2], status = 0;
	unsigned long long own;
	pid_t self, child;

	if (geteuid() != 0)
		return;
	own = effective();
	if (own & BIT(CAP_SYS_ADMIN) || (own & TO_MAP) != TO_MAP)
		return;
	uid_length = same("/proc/self/uid_map", uids);
	gid_length = same("/proc/self/gid_map", gids);
	if (!uid_length || !gid_length || pipe2(in, O_CLOEXEC))
		return;
	self = getpid();
	signal(SIGCHLD, SIG_DFL); /* if it is ignored, wait(2) finds no child; Go installs a handler of its own */
	child = fork();
	if (child == 0) {
		close(in[1]);
		if (read(in[0], &byte, 1) != 1)
			_exit(0); /* the parent could not enter it */
		_exit(put(self, "uid_map", uids, uid_length) || put(self, "gid_map", gids, gid_length));
	}
	close(in[0]);
	if (child > 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write(in[1], &byte, 1) != 1)
		fail();
	close(in[1]);
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			fail();
	if (child > 0 && status)
		fail();
}
