/*
 * Calls the kernel as a program of another architecture would: a filter knows the numbers of one only. By
 * int 0x80, sysenter and syscall, from 64-bit and from 32-bit code, and by the numbers of x32. A call is
 * within reach if the kernel says anything but that there is no such call.
 *
 * item: 13
 * control kernel: *
 * inside SIGSYS: *
 * inside ENOSYS: *
 * inside SIGILL: 64-bit sysenter, 32-bit sysenter, 32-bit syscall
 * inside SIGSEGV: 64-bit sysenter, 32-bit sysenter, 32-bit syscall
 */
#include "lib/attack.h"
#include <sys/mman.h>
#include <sys/socket.h>

#ifdef __x86_64__

/* Below 4 GiB, where 32-bit code and arguments must be. */
static unsigned char *low(void)
{
	unsigned char *page = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (page == MAP_FAILED)
		abort();
	return page;
}

static long known(long result)
{
	errno = -result;
	return result == -ENOSYS ? -1 : 0;
}

static long interrupt(long number, long b, long c)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(b), "c"(c), "d"(0L), "S"(0L), "D"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return known((int)result);
}

TRY(interrupt) { return interrupt(with, 0, 0); }

/* In memory, where no filter sees the arguments. */
TRY(socketcall)
{
	unsigned int *arguments = (unsigned int *)low();

	arguments[0] = AF_NETLINK;
	arguments[1] = SOCK_RAW;
	return interrupt(102, 1, (long)arguments);
}

TRY(x32)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(0x40000000L | with), "D"(0L), "S"(0L), "d"(0L) : "memory", "rcx", "r11");
	return known(result);
}

/* exit(0) of i386: where the call is taken up, nothing comes back; sysenter returns elsewhere anyway. */
TRY(sysenter)
{
	__asm__ volatile("movl %0, %%ebp; sysenter" : : "r"((int)(long)low() + 32768), "a"(1L), "b"(0L) : "memory");
	return with;
}

TRY(code32)
{
	static const unsigned char exit_by[] = { 0x89, 0xe5, 0xb8, 1, 0, 0, 0, 0x31, 0xdb }; /* ebp = esp, eax = 1, ebx = 0 */
	unsigned char *page = low();

	memcpy(page, exit_by, sizeof exit_by);
	page[sizeof exit_by] = with >> 8;
	page[sizeof exit_by + 1] = with & 0xff;
	page[sizeof exit_by + 2] = 0xf4; /* hlt */
	/* A far return to the 32-bit code segment of every process. */
	__asm__ volatile("mov %0, %%rsp; push $0x23; push %1; lretq" : : "r"((long)page + 32768), "r"((long)page) : "memory");
	return 0;
}

static const struct try tries[] = {
	{ "getpid by int 0x80", try_interrupt, 0, 20 },
	{ "mount by int 0x80", try_interrupt, 0, 21 },
	{ "ptrace by int 0x80", try_interrupt, 0, 26 },
	{ "socket by int 0x80", try_interrupt, 0, 359 },
	{ "unshare by int 0x80", try_interrupt, 0, 310 },
	{ "keyctl by int 0x80", try_interrupt, 0, 288 },
	{ "bpf by int 0x80", try_interrupt, 0, 357 },
	{ "io_uring by int 0x80", try_interrupt, 0, 425 },
	{ "socketcall by int 0x80", try_socketcall, 0, 0 },
	{ "getpid of x32", try_x32, 0, 39 },
	{ "mount of x32", try_x32, 0, 165 },
	{ "socket of x32", try_x32, 0, 41 },
	{ "unshare of x32", try_x32, 0, 272 },
	{ "ptrace of x32", try_x32, 0, 521 },
	{ "ioctl of x32", try_x32, 0, 514 },
	{ "64-bit sysenter", try_sysenter, 0, 0 },
	{ "32-bit int 0x80", try_code32, 0, 0xcd80 },
	{ "32-bit sysenter", try_code32, 0, 0x0f34 },
	{ "32-bit syscall", try_code32, 0, 0x0f05 },
};

#else

/* Where there is a second architecture (32-bit Arm), its programs are what must be tried here. */
TRY(none) { errno = ENOSYS; return -1; }
static const struct try tries[] = { { "of amd64 only", try_none, 0, 0 } };

#endif

int main(int argc, char **argv) { return attack(argc, argv, tries, sizeof tries / sizeof *tries); }
