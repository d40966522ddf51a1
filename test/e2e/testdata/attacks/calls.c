/*
 * Makes the system calls that an analysis must not have: namespaces, mounts, keys, tracing and what else
 * steers the kernel or other processes.
 *
 * item: 7
 * control root: swapon, swapoff, acct, fanotify_init for all, syslog*, settimeofday, adjtimex, clock_adjtime
 * control root: reboot, vhangup, setuid, setgroups, setpriority
 * control kernel: *
 * inside EPERM: *
 * inside ENOSYS: clone3*, nfsservctl, lookup_dcookie, open_tree_attr, uselib, kexec*
 * inside EINVAL: setuid
 * inside EACCES: setpriority
 * inside EBUSY: listener
 */
#include "lib/attack.h"
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>

/* Newer than the headers of Debian 12; the same on every architecture. */
enum { SYS_open_tree_attr_ = 467 };

/* As root of a user namespace of its own, where it may make one, the kernel lets a caller come further. */
static void grow(void)
{
	syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWCGROUP);
}

static long ended(long pid)
{
	if (pid == 0)
		_exit(0);
	return pid;
}

/* Namespaces. A flag that is unknown, 1, is refused before any right is asked for. */
TRY(unshare) { return syscall(SYS_unshare, with); }
TRY(unshare_more) { grow(); return syscall(SYS_unshare, with); }
TRY(setns) { return syscall(SYS_setns, -1, 0); }
TRY(setns_self) { grow(); return syscall(SYS_setns, open("/proc/self/ns/uts", O_RDONLY), 0); }
TRY(setns_pidfd) { return syscall(SYS_setns, syscall(SYS_pidfd_open, getppid(), 0), CLONE_NEWUSER); }
TRY(clone_user) { return ended(syscall(SYS_clone, with | SIGCHLD, 0, 0, 0, 0)); }
TRY(clone) { grow(); return ended(syscall(SYS_clone, with | SIGCHLD, 0, 0, 0, 0)); }
TRY(clone3) { return syscall(SYS_clone3, 0, 0); }
TRY(clone3_user)
{
	struct clone_args arguments = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	return ended(syscall(SYS_clone3, &arguments, sizeof arguments));
}

/* Mounts and roots. */
TRY(mount) { grow(); return mount("none", "/tmp", with ? (char *)with : "tmpfs", 0, 0); }
TRY(mount_bind) { grow(); return mount("/tmp", "/tmp", 0, MS_BIND | MS_REC, 0); }
TRY(mount_flags) { grow(); return mount(0, "/", 0, with, 0); }
TRY(umount) { grow(); return syscall(SYS_umount2, "/nowhere", with); }
TRY(pivot_root) { grow(); return syscall(SYS_pivot_root, "/", "/"); }
TRY(chroot) { grow(); return chroot("/"); }
TRY(open_tree) { return syscall(SYS_open_tree, AT_FDCWD, "/", 0); }
TRY(open_tree_clone) { grow(); return syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | AT_RECURSIVE); }
TRY(open_tree_attr) { return syscall(SYS_open_tree_attr_, -1, "", 1 << 30, 0, 0); }
TRY(move_mount) { grow(); return syscall(SYS_move_mount, -1, "", -1, "", 0); }
TRY(fsopen) { grow(); return syscall(SYS_fsopen, "tmpfs", 0); }
TRY(fsmount) { grow(); return syscall(SYS_fsmount, -1, 0, 0); }
TRY(fsconfig) { return syscall(SYS_fsconfig, -1, 0, 0, 0, 0); }
TRY(fspick) { grow(); return syscall(SYS_fspick, -1, "", 0); }
TRY(mount_setattr) { return syscall(SYS_mount_setattr, -1, "", 1 << 30, 0, 0); }
TRY(open_by_handle_at) { return syscall(SYS_open_by_handle_at, -1, 0, 0); }
TRY(quotactl) { return syscall(SYS_quotactl, 0x800001 << 8, 0, 0, 0); } /* Q_SYNC of everything */
TRY(quotactl_fd) { return syscall(SYS_quotactl_fd, -1, 0, 0, 0); }
TRY(swapon) { return syscall(SYS_swapon, "/nowhere", 0); }
TRY(swapoff) { return syscall(SYS_swapoff, "/nowhere"); }
TRY(acct) { return syscall(SYS_acct, "/nowhere"); }
TRY(fanotify) { return syscall(SYS_fanotify_init, with, 0); }

/* Large interfaces of the kernel. */
TRY(bpf) { return syscall(SYS_bpf, 9999, 0, 1 << 20); }
TRY(perf_event_open) { return syscall(SYS_perf_event_open, 0, 0, -1, -1, -1L); }
TRY(io_uring_setup) { return syscall(SYS_io_uring_setup, 1, 0); }
TRY(io_uring_enter) { return syscall(SYS_io_uring_enter, -1, 0, 0, 0, 0, 0); }
TRY(io_uring_register) { return syscall(SYS_io_uring_register, -1, 0, 0, 0); }
TRY(userfaultfd) { return syscall(SYS_userfaultfd, 1); } /* UFFD_USER_MODE_ONLY */
TRY(keyctl) { return syscall(SYS_keyctl, 0, -2, 1); } /* KEYCTL_GET_KEYRING_ID */
TRY(add_key) { return syscall(SYS_add_key, "user", "scidex-oci", "x", 1, -2); }
TRY(request_key) { return syscall(SYS_request_key, "user", "scidex-oci", 0, 0); }
TRY(kexec_load) { return syscall(SYS_kexec_load, 0, 1 << 20, 0, -1); }
TRY(kexec_file_load) { return syscall(SYS_kexec_file_load, -1, -1, 0, 0, -1L); }
TRY(init_module) { return syscall(SYS_init_module, 0, 0, 0); }
TRY(finit_module) { return syscall(SYS_finit_module, -1, 0, -1); }
TRY(delete_module) { return syscall(SYS_delete_module, 0, 0); }
TRY(lookup_dcookie) { return syscall(SYS_lookup_dcookie, 0L, 0, 0); }
TRY(nfsservctl) { return syscall(SYS_nfsservctl, 0, 0, 0); }
TRY(mbind) { return syscall(SYS_mbind, 0, 0, 99, 0, 0, 0); }
TRY(move_pages) { return syscall(SYS_move_pages, 0, 0, 0, 0, 0, -1); }
TRY(migrate_pages) { return syscall(SYS_migrate_pages, 0, 1 << 30, 0, 0); }

/* The machine. */
TRY(syslog) { return syscall(SYS_syslog, with, 0, 0); }
TRY(settimeofday) { return syscall(SYS_settimeofday, 0, 0); }
TRY(clock_settime) { struct timespec never = { 0, -1 }; return syscall(SYS_clock_settime, 0, &never); }
TRY(adjtimex) { struct timex none = { .modes = ADJ_TICK, .tick = 1 }; return syscall(SYS_adjtimex, &none); }
TRY(clock_adjtime) { struct timex none = { .modes = ADJ_TICK, .tick = 1 }; return syscall(SYS_clock_adjtime, 0, &none); }
TRY(sethostname) { grow(); return syscall(SYS_sethostname, 0, -1); }
TRY(setdomainname) { grow(); return syscall(SYS_setdomainname, 0, -1); }
TRY(reboot) { return syscall(SYS_reboot, 0, 0, 0, 0); }
TRY(vhangup) { return syscall(SYS_vhangup); }
#ifdef __x86_64__
TRY(iopl) { return syscall(SYS_iopl, 9); }
TRY(ioperm) { return syscall(SYS_ioperm, 0x80, 1, with); }
TRY(modify_ldt) { char table[64]; return syscall(SYS_modify_ldt, 0, table, sizeof table); }
TRY(uselib) { return syscall(SYS_uselib, "/nowhere"); }
TRY(ustat) { return syscall(SYS_ustat, 0, 0); }
TRY(sysfs) { return syscall(SYS_sysfs, 3); }
#endif

/* Itself. Who answers for a filter of his own could let pass what another only asks about (seccomp_unotify(2)). */
TRY(listener)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &all };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}
TRY(personality) { return syscall(SYS_personality, with); }
TRY(memfd_secret) { return syscall(SYS_memfd_secret, 0); }
TRY(setuid) { return syscall(SYS_setuid, 12345); }
TRY(setgroups) { return syscall(SYS_setgroups, 0, 0); }
TRY(setpriority) { return setpriority(PRIO_PROCESS, 0, -5); }

#define CALL(name, reached) { #name, try_##name, reached, 0 }
static const struct try tries[] = {
	{ "unshare nothing", try_unshare, EINVAL, 1 },
	{ "unshare user", try_unshare, 0, CLONE_NEWUSER },
	{ "unshare mnt", try_unshare_more, 0, CLONE_NEWNS },
	{ "unshare net", try_unshare_more, 0, CLONE_NEWNET },
	{ "unshare pid", try_unshare_more, 0, CLONE_NEWPID },
	{ "unshare ipc", try_unshare_more, 0, CLONE_NEWIPC },
	{ "unshare uts", try_unshare_more, 0, CLONE_NEWUTS },
	{ "unshare cgroup", try_unshare_more, 0, CLONE_NEWCGROUP },
	{ "unshare time", try_unshare_more, 0, CLONE_NEWTIME },
	{ "unshare with high bits", try_unshare, EINVAL, 1L << 40 | CLONE_NEWUSER },
	CALL(setns, EBADF), CALL(setns_self, 0),
	{ "clone user", try_clone_user, 0, CLONE_NEWUSER },
	{ "clone mnt", try_clone, 0, CLONE_NEWNS },
	{ "clone net", try_clone, 0, CLONE_NEWNET },
	{ "clone pid", try_clone, 0, CLONE_NEWPID },
	{ "clone ipc", try_clone, 0, CLONE_NEWIPC },
	{ "clone uts", try_clone, 0, CLONE_NEWUTS },
	{ "clone cgroup", try_clone, 0, CLONE_NEWCGROUP },
	{ "clone with high bits", try_clone_user, 0, 1L << 40 | CLONE_NEWUSER },
	{ "clone with the sign", try_clone_user, 0, 1L << 63 | CLONE_NEWUSER },
	CALL(clone3, EINVAL), CALL(clone3_user, 0), CALL(setns_pidfd, EINVAL),
	{ "mount tmpfs", try_mount, 0, 0 },
	{ "mount bind", try_mount_bind, 0, 0 },
	{ "remount", try_mount_flags, EINVAL, MS_REMOUNT | MS_BIND },
	{ "mount private", try_mount_flags, 0, MS_REC | MS_PRIVATE },
	{ "mount shared", try_mount_flags, 0, MS_REC | MS_SHARED },
	{ "umount", try_umount, ENOENT, 0 },
	{ "umount lazily", try_umount, ENOENT, MNT_DETACH },
	CALL(pivot_root, EINVAL), CALL(chroot, 0), CALL(open_tree, 0), CALL(open_tree_clone, 0), CALL(open_tree_attr, EINVAL),
	CALL(move_mount, ENOENT), CALL(fsopen, 0), CALL(fsmount, EBADF), CALL(fsconfig, EINVAL), CALL(fspick, ENOENT),
	CALL(mount_setattr, EINVAL),
	CALL(open_by_handle_at, EFAULT), CALL(quotactl, 0), CALL(quotactl_fd, EBADF), CALL(swapon, ENOENT), CALL(swapoff, ENOENT),
	CALL(acct, ENOENT),
	{ "fanotify_init", try_fanotify, 0, 0x200 },
	{ "fanotify_init for all", try_fanotify, 0, 0 },
	CALL(bpf, E2BIG), CALL(perf_event_open, EINVAL), CALL(io_uring_setup, EFAULT), CALL(io_uring_enter, EBADF),
	CALL(io_uring_register, EINVAL), CALL(userfaultfd, 0), CALL(keyctl, 0), CALL(add_key, 0), CALL(request_key, ENOKEY),
	CALL(kexec_load, EINVAL), CALL(kexec_file_load, EINVAL), CALL(init_module, EFAULT), CALL(finit_module, EINVAL),
	CALL(delete_module, EFAULT), CALL(lookup_dcookie, EINVAL), CALL(nfsservctl, 0),
	CALL(mbind, EINVAL), CALL(move_pages, EINVAL), CALL(migrate_pages, EINVAL),
	{ "syslog read all", try_syslog, EINVAL, 3 },
	{ "syslog size", try_syslog, 0, 10 },
	CALL(settimeofday, 0), CALL(clock_settime, EINVAL), CALL(adjtimex, EINVAL), CALL(clock_adjtime, EINVAL),
	CALL(sethostname, EINVAL), CALL(setdomainname, EINVAL), CALL(reboot, EINVAL), CALL(vhangup, 0),
#ifdef __x86_64__
	CALL(iopl, EINVAL),
	{ "ioperm", try_ioperm, 0, 1 },
	CALL(modify_ldt, 0), CALL(uselib, 0), CALL(ustat, EINVAL), CALL(sysfs, 0),
#endif
	{ "personality without randomization", try_personality, 0, ADDR_NO_RANDOMIZE },
	{ "personality of everything readable is executable", try_personality, 0, READ_IMPLIES_EXEC },
	{ "personality with page zero", try_personality, 0, MMAP_PAGE_ZERO },
	CALL(listener, 0), CALL(memfd_secret, 0), CALL(setuid, 0), CALL(setgroups, 0), CALL(setpriority, 0),
};

int main(int argc, char **argv) { return attack(argc, argv, tries, sizeof tries / sizeof *tries); }
