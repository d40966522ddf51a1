/* Threads, processes, time and scheduling. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <time.h>
#include <ucontext.h>
#include "check.h"

static pthread_barrier_t both;

static void *stay(void *nothing)
{
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return nothing;
}

TEST(names_of_threads)
{
	pthread_t thread;
	char name[16];
	int refused;

	pthread_barrier_init(&both, NULL, 2);
	CHECK(pthread_create(&thread, NULL, stay, NULL) == 0);
	pthread_barrier_wait(&both);
	CHECK(pthread_setname_np(pthread_self(), "own") == 0);
	CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strcmp(name, "own") == 0);
	/* That of another goes through /proc/self/task, which may be read-only: a label, and nobody needs it. */
	refused = pthread_setname_np(thread, "other");
	CHECK(refused == 0 || refused == EROFS);
	CHECK(pthread_getname_np(thread, name, sizeof name) == 0 && (strcmp(name, "other") == 0) == (refused == 0));
	pthread_barrier_wait(&both);
	CHECK(pthread_join(thread, NULL) == 0);
}

static int ticks;

static void tick(union sigval value) { __atomic_add_fetch(&ticks, value.sival_int, __ATOMIC_SEQ_CST); }

static void until(int wanted)
{
	time_t end = time(NULL) + 30;

	while (__atomic_load_n(&ticks, __ATOMIC_SEQ_CST) < wanted && time(NULL) < end)
		usleep(1000);
}

TEST(timers)
{
	struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
	struct sigevent by_thread = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = tick, .sigev_value.sival_int = 1 };
	struct sigevent by_signal = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	timer_t timer;
	int i;

	CHECK(timer_create(CLOCK_MONOTONIC, &by_thread, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0);
	until(3);
	CHECK(ticks >= 3 && timer_delete(timer) == 0);
	for (i = 0; i < 100; i++)
		CHECK(timer_create(CLOCK_PROCESS_CPUTIME_ID, &by_signal, &timer) == 0);
}

TEST(timer_descriptor)
{
	struct itimerspec soon = { { 0, 0 }, { 0, 1000000 } };
	int fd = timerfd_create(CLOCK_BOOTTIME, 0), set = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	unsigned long expired;

	CHECK(fd >= 0 && timerfd_settime(fd, 0, &soon, NULL) == 0);
	CHECK(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0 && epoll_wait(set, &event, 1, 30000) == 1);
	CHECK(read(fd, &expired, sizeof expired) == sizeof expired && expired == 1);
}

TEST(signals)
{
	sigset_t set;
	struct signalfd_siginfo info;
	union sigval value = { .sival_int = 42 };
	int fd, i;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && (fd = signalfd(-1, &set, 0)) >= 0);
	for (i = 0; i < 500; i++)
		CHECK(sigqueue(getpid(), SIGRTMIN, value) == 0);
	CHECK(read(fd, &info, sizeof info) == sizeof info && info.ssi_int == 42);
}

static volatile int caught;

static void overflow(int number)
{
	caught = number;
	_exit(0);
}

static int deeper(int n)
{
	volatile char frame[4096];

	frame[0] = n;
	return n ? deeper(n - 1) + frame[0] : 0;
}

TEST(stack_overflow_is_caught)
{
	stack_t other = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
	struct sigaction action = { .sa_handler = overflow, .sa_flags = SA_ONSTACK };

	CHECK(sigaltstack(&other, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
	deeper(1 << 24);
	CHECK(!"a stack of 64 GiB");
}

TEST(large_stack)
{
	struct rlimit limit = { 256 << 20, RLIM_INFINITY };

	CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
	limit.rlim_cur = 256 << 20;
	CHECK(setrlimit(RLIMIT_STACK, &limit) == 0);
	deeper(50000); /* 200 MiB: the main thread's stack grows at once */
}

TEST(own_limits)
{
	struct rlimit limit, before;

	CHECK(prlimit(0, RLIMIT_NOFILE, NULL, &before) == 0);
	limit = before;
	limit.rlim_cur--;
	CHECK(prlimit(0, RLIMIT_NOFILE, &limit, NULL) == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK(limit.rlim_cur == before.rlim_cur - 1 && limit.rlim_max == before.rlim_max);
}

TEST(scheduling)
{
	cpu_set_t all, one;
	struct sched_param none = { 0 };
	struct timespec slice;
	int cpu = sched_getcpu();

	CHECK(cpu >= 0 && sched_getaffinity(0, sizeof all, &all) == 0 && CPU_ISSET(cpu, &all));
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(sched_setaffinity(0, sizeof one, &one) == 0 && sched_setaffinity(0, sizeof all, &all) == 0);
	CHECK(sched_setscheduler(0, SCHED_BATCH, &none) == 0 && sched_getscheduler(0) == SCHED_BATCH);
	CHECK(sched_rr_get_interval(0, &slice) == 0 && sched_yield() == 0);
	CHECK(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1) == 0 && nice(1) >= 0);
}

TEST(time_passes)
{
	struct timespec a, b, wait = { 0, 2000000 };
	struct tms spent;
	struct rusage usage;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &a) == 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL) == 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &b) == 0);
	CHECK((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec >= 2000000);
	CHECK(clock_getres(CLOCK_THREAD_CPUTIME_ID, &a) == 0 && times(&spent) >= 0 && getrusage(RUSAGE_THREAD, &usage) == 0);
}

TEST(children)
{
	char *arguments[] = { "sh", "-c", "exit 5", NULL };
	int status;
	pid_t pid;
	FILE *pipe;
	char line[16];

	CHECK(posix_spawnp(&pid, "sh", NULL, NULL, arguments, environ) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5);
	CHECK(WEXITSTATUS(system("exit 6")) == 6);
	CHECK((pipe = popen("echo through", "r")) && fgets(line, sizeof line, pipe) && strcmp(line, "through\n") == 0);
	CHECK(pclose(pipe) == 0);
	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	CHECK((pid = fork()) >= 0);
	if (pid == 0)
		_exit(fork() == 0 ? 0 : 0);
	CHECK(wait(NULL) > 0 && wait(NULL) > 0); /* the grandchild too */
}

static ucontext_t here, there;

static void elsewhere(void) { caught = 7; }

TEST(contexts)
{
	static char stack[1 << 16];

	CHECK(getcontext(&there) == 0);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof stack;
	there.uc_link = &here;
	makecontext(&there, elsewhere, 0);
	CHECK(swapcontext(&here, &there) == 0 && caught == 7);
}

TEST(libraries_at_run_time)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	double (*cosine)(double) = library ? dlsym(library, "cos") : NULL;

	CHECK(cosine && cosine(0) == 1);
	CHECK(dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL));
}

TEST(restartable_sequences_and_barriers)
{
	CHECK(syscall(SYS_membarrier, 0, 0, 0) > 0); /* MEMBARRIER_CMD_QUERY */
	CHECK(syscall(SYS_get_robust_list, 0, &(void *){ 0 }, &(size_t){ 0 }) == 0);
}
