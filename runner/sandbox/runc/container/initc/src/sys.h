/*
 * What scidex-init has in place of a C library: the system calls that it makes, under the names of section 2 of the
 * manual, with the kernel's own headers. There is no errno: what fails returns it, negated, as the kernel does.
 */
#ifndef SYS_H
#define SYS_H

#include <asm/ioctls.h>
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/limits.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/signal.h>
#include <linux/time.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel says no negative number but an errno where a call has no address to return (syscalls(2)). */
static inline long call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#else
#error "say here and in sys.c how this architecture calls the kernel and starts a program"
#endif
}

/* CALL(name, up to six arguments); those that are not given are 0. */
#define CALL(...) CALL_OF(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define CALL_OF(name, a, b, c, d, e, f, ...) \
	call(__NR_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* The kernel's interface, and in none of its headers that programs may use. */

typedef int pid_t;
typedef long ssize_t;

enum { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
enum { AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10, SOL_SOCKET = 1, SCM_RIGHTS = 1, MSG_TRUNC = 0x20 };

struct msghdr { /* struct user_msghdr of the kernel */
	void *msg_name;
	int msg_namelen;
	struct iovec *msg_iov;
	size_t msg_iovlen;
	void *msg_control;
	size_t msg_controllen;
	unsigned int msg_flags;
};

struct cmsghdr {
	size_t cmsg_len; /* with the header, without what fills up to the next */
	int cmsg_level;
	int cmsg_type;
};

/* A set of signals: signal n is bit n - 1. */
typedef uint64_t signals;
#define NO_SIGNALS ((signals)0)
#define ALL_SIGNALS (~(signals)0)
enum { LAST_SIGNAL = 8 * sizeof(signals) };

/* Descriptors. */

static inline long close(int fd) { return CALL(close, fd); }
static inline long fcntl(int fd, int operation, long value) { return CALL(fcntl, fd, operation, value); }
static inline long dup3(int from, int to, int flags) { return CALL(dup3, from, to, flags); }
static inline long open(const char *path, int flags) { return CALL(openat, AT_FDCWD, path, flags); }
static inline long pipe2(int fds[2], int flags) { return CALL(pipe2, fds, flags); }
static inline ssize_t read(int fd, void *to, size_t size) { return CALL(read, fd, to, size); }
static inline ssize_t write(int fd, const void *from, size_t size) { return CALL(write, fd, from, size); }
static inline ssize_t recv(int fd, void *to, size_t size, int flags) { return CALL(recvfrom, fd, to, size, flags); }
static inline ssize_t sendmsg(int fd, const struct msghdr *m, int flags) { return CALL(sendmsg, fd, m, flags); }

/* Processes. */

static inline long execve(const char *path, char **argv, char **envp) { return CALL(execve, path, argv, envp); }
static inline long getpid(void) { return CALL(getpid); }
static inline long getrusage(int who, struct rusage *u) { return CALL(getrusage, who, u); }
static inline long kill(pid_t pid, int sig) { return CALL(kill, pid, sig); }
static inline long prctl(int operation, long value) { return CALL(prctl, operation, value); }
static inline long seccomp(int operation, long flags, void *args) { return CALL(seccomp, operation, flags, args); }
static inline long setsid(void) { return CALL(setsid); }
static inline long ioctl(int fd, unsigned int request, long arg) { return CALL(ioctl, fd, request, arg); }

/* clone3(2) would be newer; the analysis' filter has none. */
static inline long fork(void) { return CALL(clone, SIGCHLD); }

static inline long waitpid(pid_t pid, int *status, int options) { return CALL(wait4, pid, status, options, NULL); }

static inline long setrlimit(int resource, const struct rlimit64 *l) { return CALL(prlimit64, 0, resource, l, NULL); }

static inline void __attribute__((noreturn)) _exit(int code)
{
	for (;;)
		CALL(exit_group, code);
}

/* Of the kernel itself, and not of its vDSO, which would have to be found: the times of some reports are no more. */
static inline long clock_gettime(int clock, struct timespec *t) { return CALL(clock_gettime, clock, t); }

/* Signals. The kernel wants to know how large its sets are thought to be. */

static inline long sigsetmask(signals set) { return CALL(rt_sigprocmask, SIG_SETMASK, &set, NULL, sizeof set); }

static inline long sigdefault(int sig)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };

	return CALL(rt_sigaction, sig, &standard, NULL, sizeof(signals));
}

static inline long sigwaitinfo(signals set, siginfo_t *info)
{
	return CALL(rt_sigtimedwait, &set, info, NULL, sizeof set);
}

/* Strings and memory (sys.c). A compiler may call the last four where the source does not (gcc(1), -ffreestanding). */

size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
const char *strchr(const char *s, int c);
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);

#endif
