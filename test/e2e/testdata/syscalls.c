/*
 * Tries system calls that an analysis must not have and prints, as JSON, what each gave: "ok" or the
 * name of the error. Run outside as the control: every call is made so that a kernel without a filter
 * answers something else, where possible whoever the caller is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Newer than the headers of Debian 12; the same on every architecture. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static pid_t victim; /* a child that may be traced */

/* As root of a user namespace of its own, where it may make one, the kernel lets a caller come further. */
static void grow(void) { syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS); }

static long try_unshare_user(void) { return syscall(SYS_unshare, CLONE_NEWUSER); }
static long try_unshare_flags(void) { return syscall(SYS_unshare, 1); } /* EINVAL before any right is asked */
static long try_setns(void) { return syscall(SYS_setns, -1, 0); }
static long try_clone_user(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(0);
	return pid;
}
static long try_clone3(void) { return syscall(SYS_clone3, 0, 0); }
static long try_mount(void) { return syscall(SYS_mount, 0, 0, 0, 0, 0); }
static long try_mount_tmpfs(void) { grow(); return syscall(SYS_mount, "none", ".", "tmpfs", 0, 0); }
static long try_umount(void) { return syscall(SYS_umount2, 0, 1 << 30); }
static long try_pivot_root(void) { grow(); return syscall(SYS_pivot_root, 0, 0); }
static long try_chroot(void) { grow(); return syscall(SYS_chroot, "/"); }
static long try_open_tree(void) { return syscall(SYS_open_tree, -1, "x", 0); }
static long try_move_mount(void) { grow(); return syscall(SYS_move_mount, -1, "", -1, "", 0); }
static long try_fsopen(void) { grow(); return syscall(SYS_fsopen, "tmpfs", 0); }
static long try_fsmount(void) { grow(); return syscall(SYS_fsmount, -1, 0, 0); }
static long try_mount_setattr(void) { return syscall(SYS_mount_setattr, -1, "", 1 << 30, 0, 0); }
static long try_ptrace(void) { return syscall(SYS_ptrace, PTRACE_SEIZE, victim, 0, 0); }
static long try_ptrace_init(void) { return syscall(SYS_ptrace, PTRACE_SEIZE, 1, 0, 0); }
static long try_vm_readv(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { &victim, 1 };
	return syscall(SYS_process_vm_readv, victim, &here, 1, &there, 1, 0);
}
static long try_vm_writev(void)
{
	char byte = 0;
	struct iovec here = { &byte, 1 }, there = { &victim, 1 };
	return syscall(SYS_process_vm_writev, victim, &here, 1, &there, 1, 0);
}
static long try_kcmp(void) { return syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0); }
static long try_pidfd_getfd(void) { return syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, victim, 0), 1, 0); }
static long try_keyctl(void) { return syscall(SYS_keyctl, 0, -2, 1); } /* KEYCTL_GET_KEYRING_ID */
static long try_add_key(void) { return syscall(SYS_add_key, "user", "scidex-oci", "x", 1, -2); }
static long try_request_key(void) { return syscall(SYS_request_key, "user", "scidex-oci", 0, 0); }
static long try_bpf(void) { return syscall(SYS_bpf, 9999, 0, 1 << 20); } /* E2BIG comes first */
static long try_perf(void) { return syscall(SYS_perf_event_open, 0, 0, -1, -1, -1L); }
static long try_io_uring(void) { return syscall(SYS_io_uring_setup, 1, 0); }
static long try_io_uring_enter(void) { return syscall(SYS_io_uring_enter, -1, 0, 0, 0, 0, 0); }
static long try_userfaultfd(void) { return syscall(SYS_userfaultfd, 1); } /* UFFD_USER_MODE_ONLY */
static long try_openat2(void) { return syscall(SYS_openat2, -1, 0, 0, 0); }
static long try_fallocate(void)
{
	int fd = open("allocated", O_CREAT | O_RDWR, 0600);
	return syscall(SYS_fallocate, fd, 0, 0, 4096);
}
static long try_chmod(void) { close(open("plain", O_CREAT | O_RDWR, 0600)); return chmod("plain", 06777); }
static long try_chmod_setuid(void) { return chmod("plain", 04755); }
static long try_chmod_setgid(void) { return chmod("plain", 02755); }
static long try_fchmod(void) { return fchmod(open("plain", O_RDWR), 06777); }
static long try_fchmodat(void) { return syscall(SYS_fchmodat, AT_FDCWD, "plain", 06777); }
static long try_fchmodat2(void) { return syscall(SYS_fchmodat2, AT_FDCWD, "plain", 06777, 0); }
static long try_open_setid(void) { return syscall(SYS_openat, AT_FDCWD, "opened", O_CREAT | O_RDWR, 06755); }
static long try_tmpfile_setid(void) { return syscall(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_RDWR, 06755); }
static long try_mkdir_setid(void) { return syscall(SYS_mkdirat, AT_FDCWD, "made", 02777); }
static long try_mknod_setid(void) { return syscall(SYS_mknodat, AT_FDCWD, "fifo", S_IFIFO | 06777, 0); }
static long try_netlink(void) { return socket(AF_NETLINK, SOCK_RAW, 0); }
/* The kernel takes 32 bits of the family, a filter compares 64. */
static long try_netlink_high(void) { return syscall(SYS_socket, (1L << 32) | AF_NETLINK, SOCK_RAW, 0); }
static long try_netlink_pair(void) { return syscall(SYS_socketpair, AF_NETLINK, SOCK_RAW, 0, 0); }
static long try_vsock(void) { return socket(AF_VSOCK, SOCK_STREAM, 0); }
static long try_alg(void) { return socket(AF_ALG, SOCK_SEQPACKET, 0); }
static long try_packet(void) { return socket(AF_PACKET, SOCK_RAW, 0); }
static long try_bluetooth(void) { return socket(AF_BLUETOOTH, SOCK_RAW, 0); }
static long try_raw(void) { return socket(AF_INET, SOCK_RAW, 1); }
static long try_device(void) { return mknod("device", S_IFCHR | 0666, 1 << 8 | 3); }
static long try_hostname(void) { return syscall(SYS_sethostname, 0, -1); }
static long try_clock(void) { return syscall(SYS_settimeofday, 0, 0); }
static long try_module(void) { return syscall(SYS_init_module, 0, 0, 0); }
static long try_kexec(void) { return syscall(SYS_kexec_load, 0, 1 << 20, 0, -1); }
static long try_reboot(void) { return syscall(SYS_reboot, 0, 0, 0, 0); }
static long try_setuid(void) { return syscall(SYS_setuid, 12345); }
static long try_setgroups(void) { return syscall(SYS_setgroups, 0, 0); }
static long try_chown(void) { return syscall(SYS_fchownat, AT_FDCWD, "plain", 12345, 12345, 0); }
static long try_nice(void) { return syscall(SYS_setpriority, 0, 0, -5); }
static long try_handle(void) { return syscall(SYS_open_by_handle_at, -1, 0, 0); }

#define CALL(name) { #name, try_##name }
static const struct {
	const char *name;
	long (*call)(void);
} calls[] = {
	CALL(unshare_user), CALL(unshare_flags), CALL(setns), CALL(clone_user), CALL(clone3),
	CALL(mount), CALL(mount_tmpfs), CALL(umount), CALL(pivot_root), CALL(chroot), CALL(open_tree), CALL(move_mount),
	CALL(fsopen), CALL(fsmount), CALL(mount_setattr),
	CALL(ptrace), CALL(ptrace_init), CALL(vm_readv), CALL(vm_writev), CALL(kcmp), CALL(pidfd_getfd),
	CALL(keyctl), CALL(add_key), CALL(request_key),
	CALL(bpf), CALL(perf), CALL(io_uring), CALL(io_uring_enter), CALL(userfaultfd), CALL(openat2), CALL(fallocate),
	CALL(chmod), CALL(chmod_setuid), CALL(chmod_setgid), CALL(fchmod), CALL(fchmodat), CALL(fchmodat2),
	CALL(open_setid), CALL(tmpfile_setid), CALL(mkdir_setid), CALL(mknod_setid),
	CALL(netlink), CALL(netlink_high), CALL(netlink_pair), CALL(vsock), CALL(alg), CALL(packet), CALL(bluetooth), CALL(raw),
	CALL(device), CALL(hostname), CALL(clock), CALL(module), CALL(kexec), CALL(reboot),
	CALL(setuid), CALL(setgroups), CALL(chown), CALL(nice), CALL(handle),
};

/* Each call has a process of its own: what one changes, the next does not see. */
static const char *outcome(long (*call)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		errno = 0;
		_exit(call() < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status))
		return strsignal(WTERMSIG(status));
	return WEXITSTATUS(status) == 0 ? "ok" : strerrorname_np(WEXITSTATUS(status));
}

int main(void)
{
	size_t i;

	victim = fork();
	if (victim == 0) {
		pause();
		_exit(0);
	}
	fputs("{", stdout);
	fflush(stdout); /* a child must not have it too */
	for (i = 0; i < sizeof calls / sizeof *calls; i++) {
		printf("%s\"%s\": \"%s\"", i ? ", " : "", calls[i].name, outcome(calls[i].call));
		fflush(stdout);
	}
	printf("}\n");
	kill(victim, SIGKILL);
	return 0;
}
