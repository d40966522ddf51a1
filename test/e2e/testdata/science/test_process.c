/* Threads, processes and scheduling. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
	CHECK((pipe = popen("echo through", "r")) && fgets(line, sizeof line, pipe));
	CHECK(strcmp(line, "through\n") == 0);
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
