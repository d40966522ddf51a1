/* Memory, mapped and locked, and files in ways that are not read and write. */
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include "check.h"

TEST(memory_file)
{
	int fd = memfd_create("science", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0 && write(fd, "sealed", 6) == 6);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK) == 0);
	CHECK(write(fd, "x", 1) < 0 && errno == EPERM);
}

TEST(locked_memory)
{
	struct rlimit limit;
	void *page = mmap(0, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED && getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	CHECK(mlock(page, 16 << 10) == 0 && munlock(page, 16 << 10) == 0); /* a key or two */
	CHECK(limit.rlim_cur < 1 << 24);
	CHECK(mlock(page, 1 << 24) < 0 && (errno == ENOMEM || errno == EPERM));
}

TEST(mappings)
{
	char *at = mmap(0, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned char resident[1 << 10];
	int fd = open("/proc/self/exe", O_RDONLY);

	CHECK(at != MAP_FAILED);
	memset(at, 1, 1 << 22);
	CHECK((at = mremap(at, 1 << 22, 1 << 23, MREMAP_MAYMOVE)) != MAP_FAILED && at[(1 << 22) - 1] == 1);
	CHECK(mincore(at, 1 << 22, resident) == 0 && (resident[0] & 1));
	CHECK(madvise(at, 1 << 22, MADV_DONTNEED) == 0 && at[0] == 0);
	CHECK(mprotect(at, 4096, PROT_READ) == 0 && msync(at, 4096, MS_SYNC) == 0);
	CHECK(mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	/* 8 GiB that are only reserved, as Go, Java and sanitizers do. */
	CHECK(mmap(0, 1UL << 33, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
}

TEST(allocated_file)
{
	int fd = open("/work/allocated", O_CREAT | O_RDWR, 0600);

	CHECK(fd >= 0 && fallocate(fd, 0, 0, 1 << 20) < 0 && errno == EOPNOTSUPP);
	CHECK(posix_fallocate(fd, 0, 1 << 20) == 0 && lseek(fd, 0, SEEK_END) == 1 << 20);
	CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL) == 0 && fdatasync(fd) == 0);
	CHECK(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) == 0);
}

TEST(chance)
{
	uint64_t a = 0, b = 0;

	CHECK(getrandom(&a, sizeof a, 0) == sizeof a && getentropy(&b, sizeof b) == 0 && a != b);
	CHECK(getrandom(&a, sizeof a, GRND_NONBLOCK) == sizeof a);
}

TEST(asynchronous_read)
{
	char content[256];
	struct aiocb wanted = { .aio_buf = content, .aio_nbytes = 256, .aio_offset = 512 };
	const struct aiocb *all[] = { &wanted };

	wanted.aio_fildes = open("/data/bytes.bin", O_RDONLY);
	CHECK(aio_read(&wanted) == 0 && aio_suspend(all, 1, NULL) == 0);
	CHECK(aio_return(&wanted) == 256 && content[7] == 7);
}
