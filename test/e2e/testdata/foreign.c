/*
 * Calls the kernel as a program of another architecture would: getpid by int 0x80 (i386) and by the x32
 * numbers. Prints, as JSON, what each gave: "ok", the name of the error, or the signal that killed it.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long i386(void)
{
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static long x32(void)
{
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(0x40000000L | 39) : "memory", "rcx", "r11");
	return result;
}

static const char *outcome(long (*call)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		long result = call();
		_exit(result < 0 ? -result : 0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		return sigabbrev_np(WTERMSIG(status));
	return WEXITSTATUS(status) == 0 ? "ok" : strerrorname_np(WEXITSTATUS(status));
}

int main(void)
{
	const char *first = outcome(i386), *second = outcome(x32);

	printf("{\"int 0x80\": \"%s\", \"x32\": \"%s\"}\n", first, second);
	return 0;
}
