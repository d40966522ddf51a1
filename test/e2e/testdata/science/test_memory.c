/* Memory that processes share, queues and semaphores by name, and what else POSIX and Linux offer beside. */
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include "check.h"

/* In a child, which must succeed. */
#define CHILD(...)                                                                          \
	do {                                                                                \
		int status;                                                                 \
		pid_t pid = fork();                                                         \
		if (pid == 0) {                                                             \
			__VA_ARGS__;                                                        \
			_exit(0);                                                           \
		}                                                                           \
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);                      \
	} while (0)

TEST(shared_memory_object)
{
	int *numbers, fd = shm_open("/science", O_CREAT | O_EXCL | O_RDWR, 0600);

	CHECK(fd >= 0 && ftruncate(fd, 1 << 20) == 0);
	numbers = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(numbers != MAP_FAILED);
	CHILD({
		int *theirs, other = shm_open("/science", O_RDWR, 0);
		theirs = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
		CHECK(theirs != MAP_FAILED);
		theirs[1000] = 42;
	});
	CHECK(numbers[1000] == 42);
	CHECK(shm_unlink("/science") == 0);
}

TEST(named_semaphore)
{
	sem_t *s = sem_open("/science", O_CREAT | O_EXCL, 0600, 0);
	struct timespec past = { 1, 0 };

	CHECK(s != SEM_FAILED);
	CHECK(sem_timedwait(s, &past) < 0 && errno == ETIMEDOUT);
	CHILD(CHECK(sem_post(sem_open("/science", 0)) == 0));
	CHECK(sem_wait(s) == 0);
	CHECK(sem_unlink("/science") == 0);
}

TEST(message_queue)
{
	char text[32];
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = sizeof text };
	mqd_t q = mq_open("/science", O_CREAT | O_EXCL | O_RDWR, 0600, &attr);

	CHECK(q != (mqd_t)-1);
	CHILD(CHECK(mq_send(mq_open("/science", O_WRONLY), "from the child", 15, 1) == 0));
	CHECK(mq_receive(q, text, sizeof text, NULL) == 15 && strcmp(text, "from the child") == 0);
	CHECK(mq_unlink("/science") == 0);
}

TEST(system_v)
{
	int shm = shmget(IPC_PRIVATE, 1 << 20, 0600), sem = semget(IPC_PRIVATE, 1, 0600), q = msgget(IPC_PRIVATE, 0600);
	struct sembuf up = { 0, 1, 0 }, down = { 0, -1, 0 };
	struct { long type; char text[16]; } message = { 1, "" };
	int *numbers;

	CHECK(shm >= 0 && sem >= 0 && q >= 0);
	CHECK((numbers = shmat(shm, NULL, 0)) != (void *)-1);
	CHILD({
		struct { long type; char text[16]; } said = { 7, "said" };
		numbers[5] = 5;
		CHECK(semop(sem, &up, 1) == 0 && msgsnd(q, &said, sizeof said.text, 0) == 0);
	});
	CHECK(semop(sem, &down, 1) == 0 && numbers[5] == 5);
	CHECK(msgrcv(q, &message, sizeof message.text, 7, 0) == 16 && strcmp(message.text, "said") == 0);
	CHECK(shmctl(shm, IPC_RMID, NULL) == 0 && semctl(sem, 0, IPC_RMID) == 0 && msgctl(q, IPC_RMID, NULL) == 0);
}

TEST(mutex_between_processes)
{
	struct { pthread_mutex_t mutex; int held; } *shared;
	pthread_mutexattr_t attr;

	shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	CHECK(pthread_mutex_init(&shared->mutex, &attr) == 0);
	CHILD(CHECK(pthread_mutex_lock(&shared->mutex) == 0)); /* dies with it */
	CHECK(pthread_mutex_lock(&shared->mutex) == EOWNERDEAD);
	CHECK(pthread_mutex_consistent(&shared->mutex) == 0 && pthread_mutex_unlock(&shared->mutex) == 0);
}

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
	struct aiocb wanted = { .aio_fildes = open("/data/bytes.bin", O_RDONLY), .aio_buf = content, .aio_nbytes = 256, .aio_offset = 512 };
	const struct aiocb *all[] = { &wanted };

	CHECK(aio_read(&wanted) == 0 && aio_suspend(all, 1, NULL) == 0);
	CHECK(aio_return(&wanted) == 256 && content[7] == 7);
}

TEST(event_counter)
{
	int fd = eventfd(0, EFD_SEMAPHORE);
	eventfd_t value;

	CHECK(fd >= 0);
	CHILD(CHECK(eventfd_write(fd, 3) == 0));
	CHECK(eventfd_read(fd, &value) == 0 && value == 1);
}
