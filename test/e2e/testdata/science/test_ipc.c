/* What processes share: memory, semaphores, queues and locks, of POSIX and of System V. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
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

	if (q == (mqd_t)-1 && errno == EACCES)
		return; /* under Landlock there are none: docs/SECURITY.md */
	CHECK(q != (mqd_t)-1);
	CHILD(CHECK(mq_send(mq_open("/science", O_WRONLY), "from the child", 15, 1) == 0));
	CHECK(mq_receive(q, text, sizeof text, NULL) == 15 && strcmp(text, "from the child") == 0);
	CHECK(mq_unlink("/science") == 0);
}

TEST(system_v)
{
	int shm = shmget(IPC_PRIVATE, 1 << 20, 0600);
	int sem = semget(IPC_PRIVATE, 1, 0600), q = msgget(IPC_PRIVATE, 0600);
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

TEST(event_counter)
{
	int fd = eventfd(0, EFD_SEMAPHORE);
	eventfd_t value;

	CHECK(fd >= 0);
	CHILD(CHECK(eventfd_write(fd, 3) == 0));
	CHECK(eventfd_read(fd, &value) == 0 && value == 1);
}
