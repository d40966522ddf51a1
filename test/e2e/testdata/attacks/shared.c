/*
 * Takes what the whole machine, or all of the caller's processes, have one supply of, and no control group
 * counts: who takes all of it keeps the host's own programs from it.
 *
 * item: 7
 * control kernel: *
 * inside EPERM: a filter*
 */
#include "lib/attack.h"
#include <fcntl.h>
#include <linux/filter.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Of fs.inotify.max_user_instances, 128, of the caller and of root alike (user.max_inotify_instances). */
TRY(inotify)
{
	while (with-- > 0)
		if (inotify_init1(0) < 0)
			return -1;
	return 0;
}

/* Of fs.aio-max-nr, 65536, of the machine. */
TRY(aio) { unsigned long context = 0; return syscall(SYS_io_setup, with, &context); }

/* Of kernel.pty.max, 4096, of the machine. */
TRY(terminals)
{
	while (with-- > 0)
		if (open("/dev/ptmx", O_RDWR | O_NOCTTY) < 0)
			return -1;
	return 0;
}

/* Of vm.nr_hugepages, which a database was given; there may be none. */
TRY(huge_pages)
{
	void *page = mmap(0, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	return page == MAP_FAILED ? -1 : 0;
}
TRY(huge_file) { return syscall(SYS_memfd_create, "x", MFD_HUGETLB); }

/* Of net.core.bpf_jit_limit of the machine: where none is left, no program without privilege gets a seccomp filter. */
static long attach(long level, long option)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, -1);
	struct sock_fprog program = { 1, &all };
	int one = 1, fd = socket(AF_INET, SOCK_DGRAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
	return syscall(SYS_setsockopt, fd, level, option, &program, sizeof program);
}
TRY(filter) { return attach(SOL_SOCKET, with); }
TRY(bpf) { int none = -1; return setsockopt(socket(AF_INET, SOCK_DGRAM, 0), SOL_SOCKET, with, &none, sizeof none); }
TRY(level) { return attach(SOL_SOCKET | with, SO_ATTACH_FILTER); }

static const struct try tries[] = {
	{ "inotify instances of the caller", try_inotify, 0, 48 },
	{ "asynchronous I/O of the machine", try_aio, 0, 1000 },
	{ "terminals of the machine", try_terminals, 0, 200 },
	{ "huge pages", try_huge_pages, ENOMEM, 0 },
	{ "a file of huge pages", try_huge_file, 0, 0 },
	{ "a filter of a socket", try_filter, 0, SO_ATTACH_FILTER },
	{ "a filter of a socket, bit 32", try_filter, 0, SO_ATTACH_FILTER | 1L << 32 },
	{ "a filter of a socket, bit 63", try_filter, 0, SO_ATTACH_FILTER | 1L << 63 },
	{ "a filter of a level with bit 32", try_level, 0, 1L << 32 },
	{ "a filter of reused ports", try_filter, 0, SO_ATTACH_REUSEPORT_CBPF },
	{ "a filter of reused ports, bit 32", try_filter, 0, SO_ATTACH_REUSEPORT_CBPF | 1L << 32 },
	{ "a filter of BPF", try_bpf, EBADF, SO_ATTACH_BPF },
	{ "a filter of BPF of reused ports", try_bpf, EBADF, SO_ATTACH_REUSEPORT_EBPF },
};

int main(int argc, char **argv) { return attack(argc, argv, tries, sizeof tries / sizeof *tries); }
