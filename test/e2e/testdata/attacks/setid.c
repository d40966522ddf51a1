/*
 * Makes set-id files, devices and files with capabilities or labels, by every call that can. A file of an
 * analysis must never be a program that runs as someone.
 *
 * item: 10
 * control root: device*, chown*, trusted*, security label
 * control kernel: fchmodat2*, acl*
 * inside EPERM: *
 * inside ENOSYS: openat2*, fchmodat2*
 * inside EINVAL: chown*, acl*
 */
#include "lib/attack.h"
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#define SYS_fchmodat2_ 452 /* newer than the headers of Debian 12 */

static void spell(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (write(fd, text, strlen(text)) < 0)
		return; /* what follows fails then */
	close(fd);
}

/* As root of a user namespace of its own, where it is not root already and may make one. */
static void grow(void)
{
	const char *uids = name("0 %d 1", geteuid()), *gids = name("0 %d 1", getegid());

	if (geteuid() == 0)
		return;
	syscall(SYS_unshare, CLONE_NEWUSER);
	spell("/proc/self/setgroups", "deny");
	spell("/proc/self/uid_map", uids);
	spell("/proc/self/gid_map", gids);
}

static const char *plain(void)
{
	close(open("plain", O_CREAT | O_RDWR, 0600));
	return "plain";
}

/* Fails where the file or directory did not become set-id: a kernel may drop the bits and say nothing. */
static long became(long result, const char *path)
{
	struct stat st;

	if (result < 0)
		return -1;
	errno = ENODATA;
	return stat(path, &st) == 0 && st.st_mode & 06000 ? 0 : -1;
}

static const char *fresh(void) { return name("made-%d", getpid()); }

TRY(chmod) { return became(chmod(plain(), with), "plain"); }
TRY(fchmod) { return became(fchmod(open(plain(), O_RDWR), with), "plain"); }
TRY(fchmod_read) { return became(fchmod(open(plain(), O_RDONLY), with), "plain"); }
TRY(fchmodat) { return became(syscall(SYS_fchmodat, AT_FDCWD, plain(), with), "plain"); }
TRY(fchmodat2) { return became(syscall(SYS_fchmodat2_, AT_FDCWD, plain(), with, 0), "plain"); }
TRY(fchmodat2_fd) { return became(syscall(SYS_fchmodat2_, open(plain(), O_PATH), "", with, AT_EMPTY_PATH), "plain"); }
TRY(chmod_proc) { return became(chmod(name("/proc/self/fd/%d", open(plain(), O_PATH)), with), "plain"); }
TRY(chmod_directory) { const char *path = fresh(); mkdir(path, 0700); return became(chmod(path, with), path); }
TRY(openat) { const char *path = fresh(); return became(syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_RDWR, with), path); }
TRY(openat_more) { const char *path = fresh(); return became(syscall(SYS_openat, AT_FDCWD, path, 1L << 40 | O_CREAT | O_RDWR, with), path); }
TRY(tmpfile)
{
	int fd = syscall(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_RDWR, with);
	return fd < 0 ? -1 : became(0, name("/proc/self/fd/%d", fd));
}
TRY(openat2)
{
	const char *path = fresh();
	uint64_t how[3] = { O_CREAT | O_RDWR, with, 0 };
	return became(syscall(SYS_openat2, AT_FDCWD, path, how, sizeof how), path);
}
TRY(mkdirat) { const char *path = fresh(); mkdirat(AT_FDCWD, path, with); return became(chmod(path, with), path); }
TRY(mknodat) { const char *path = fresh(); return became(syscall(SYS_mknodat, AT_FDCWD, path, S_IFREG | with, 0), path); }
TRY(fifo) { const char *path = fresh(); return became(syscall(SYS_mknodat, AT_FDCWD, path, S_IFIFO | with, 0), path); }
#ifdef __x86_64__
TRY(open) { const char *path = fresh(); return became(syscall(SYS_open, path, O_CREAT | O_RDWR, with), path); }
TRY(creat) { const char *path = fresh(); return became(syscall(SYS_creat, path, with), path); }
TRY(mkdir) { const char *path = fresh(); return became(syscall(SYS_mkdir, path, with) ? -1 : chmod(path, with), path); }
TRY(mknod) { const char *path = fresh(); return became(syscall(SYS_mknod, path, S_IFREG | with, 0), path); }
#endif

TRY(device) { return mknod(fresh(), S_IFCHR | 0666, with); }
TRY(block) { return mknod(fresh(), S_IFBLK | 0666, with); }

TRY(chown) { return chown(plain(), with, -1); }
TRY(chgrp) { return chown(plain(), -1, with); }

/* CAP_SYS_ADMIN, permitted and effective (linux/capability.h). */
static const uint32_t capability[] = { 0x02000001, 1 << 21, 0, 0, 0 };
static const uint32_t rooted[] = { 0x03000001, 1 << 21, 0, 0, 0, 0 };

TRY(capability) { grow(); return setxattr(plain(), "security.capability", capability, sizeof capability, 0); }
TRY(fcapability) { grow(); return fsetxattr(open(plain(), O_RDONLY), "security.capability", capability, sizeof capability, 0); }
TRY(rooted) { grow(); return setxattr(plain(), "security.capability", rooted, sizeof rooted, 0); }
TRY(security) { return setxattr(plain(), "security.scidex", "x", 1, 0); }
TRY(trusted) { return setxattr(plain(), "trusted.scidex", "x", 1, 0); }
TRY(trusted_overlay) { return setxattr(plain(), "trusted.overlay.redirect", "/", 1, 0); }

/* Owner, one user by id, group, mask, others; 7 for all (linux/posix_acl_xattr.h). */
TRY(acl)
{
	struct { uint32_t version; struct { uint16_t tag, perm; uint32_t id; } entry[5]; } list = { 2, {
		{ 1, 7, -1 }, { 2, 7, 12345 }, { 4, 7, -1 }, { 16, 7, -1 }, { 32, 7, -1 } } };
	return setxattr(plain(), "system.posix_acl_access", &list, sizeof list, 0);
}

#define MODES(name) { #name " 06777", try_##name, 0, 06777 }, { #name " 04755", try_##name, 0, 04755 }, \
		    { #name " 02755", try_##name, 0, 02755 }
static const struct try tries[] = {
	MODES(chmod), MODES(fchmod), MODES(fchmod_read), MODES(fchmodat), MODES(fchmodat2), MODES(fchmodat2_fd),
	MODES(chmod_proc), MODES(chmod_directory), MODES(openat), MODES(openat_more), MODES(tmpfile), MODES(openat2),
	MODES(mkdirat), MODES(mknodat), MODES(fifo),
	{ "chmod with high bits", try_chmod, 0, 0xff0000 | 06777 },
	{ "fchmodat with the sign", try_fchmodat, 0, 1L << 63 | 06777 },
	{ "openat with high bits", try_openat, 0, 0xff0000 | 06777 },
#ifdef __x86_64__
	MODES(open), MODES(creat), MODES(mkdir), MODES(mknod),
#endif
	{ "device null", try_device, 0, 1 << 8 | 3 },
	{ "device mem", try_device, 0, 1 << 8 | 1 },
	{ "device kmsg", try_device, 0, 1 << 8 | 11 },
	{ "device tty", try_device, 0, 4 << 8 | 1 },
	{ "device fuse", try_device, 0, 10 << 8 | 229 },
	{ "device kvm", try_device, 0, 10 << 8 | 232 },
	{ "device loop", try_block, 0, 7 << 8 | 0 },
	{ "device disk", try_block, 0, 8 << 8 | 0 },
	{ "chown to another", try_chown, 0, 65534 },
	{ "chown group", try_chgrp, 0, 12345 },
	{ "capability", try_capability, 0, 0 },
	{ "capability by descriptor", try_fcapability, 0, 0 },
	{ "capability of a namespace", try_rooted, 0, 0 },
	{ "security label", try_security, 0, 0 },
	{ "trusted attribute", try_trusted, 0, 0 },
	{ "trusted attribute of overlays", try_trusted_overlay, 0, 0 },
	{ "acl for another user", try_acl, 0, 0 },
};

int main(int argc, char **argv)
{
	umask(0);
	return attack(argc, argv, tries, sizeof tries / sizeof *tries);
}
