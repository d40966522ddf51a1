/* Timers, clocks, and signals that are queued or read. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <time.h>
#include "check.h"

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
	struct sigevent by_thread = { .sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 1 };
	struct sigevent by_signal = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	timer_t timer;
	int i;

	by_thread.sigev_notify_function = tick;
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

TEST(time_passes)
{
	struct timespec a, b, wait = { 0, 2000000 };
	struct tms spent;
	struct rusage usage;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &a) == 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL) == 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &b) == 0);
	CHECK((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec >= 2000000);
	CHECK(clock_getres(CLOCK_THREAD_CPUTIME_ID, &a) == 0 && getrusage(RUSAGE_THREAD, &usage) == 0);
	CHECK(times(&spent) >= 0);
}
