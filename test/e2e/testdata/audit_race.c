/*
 * Connects while another thread changes the address between its own server's and the host's: what an audit
 * looked at is not what the kernel takes. HOST PORT [HOST PORT...] are the host's; prints how often it was
 * connected to whom.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in own, others[64];
static volatile struct sockaddr_in shared;
static int count;
static atomic_int done;

static void *change(void *unused)
{
	int i;

	(void)unused;
	for (i = 0; !done; i++) {
		const struct sockaddr_in *to = i % 2 ? &own : &others[i / 2 % count];

		shared.sin_port = to->sin_port;
		shared.sin_addr.s_addr = to->sin_addr.s_addr;
	}
	return NULL;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	socklen_t size = sizeof own;
	long reached = 0, mine = 0, refused = 0, silent = 0;
	int server = socket(AF_INET, SOCK_STREAM, 0), s;
	struct timeval soon = { 0, 200000 };
	pthread_t thread;
	double end = now() + 2;

	own.sin_family = AF_INET;
	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(server, (struct sockaddr *)&own, sizeof own) || listen(server, 4096) ||
	    getsockname(server, (struct sockaddr *)&own, &size))
		return 1;
	for (; 2 * count + 2 < argc; count++) {
		others[count].sin_family = AF_INET;
		others[count].sin_port = htons((uint16_t)atoi(argv[2 * count + 2]));
		if (inet_pton(AF_INET, argv[2 * count + 1], &others[count].sin_addr) != 1)
			return 1;
	}
	shared.sin_family = AF_INET;
	if (!count || pthread_create(&thread, NULL, change, NULL))
		return 1;
	while (now() < end) {
		struct sockaddr_in peer;
		char greeting[16] = "";
		socklen_t n = sizeof peer;

		s = socket(AF_INET, SOCK_STREAM, 0);
		setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
		if (connect(s, (struct sockaddr *)&shared, sizeof shared))
			refused++;
		else if (!getpeername(s, (struct sockaddr *)&peer, &n) && peer.sin_port == own.sin_port) {
			mine++;
			close(accept(server, NULL, NULL));
		} else if (read(s, greeting, sizeof greeting) > 0)
			reached++; /* it greets, and so is no server of our own */
		else
			silent++;
		close(s);
	}
	done = 1;
	printf("{\"mine\": %ld, \"refused\": %ld, \"silent\": %ld, \"reached\": %ld}\n", mine, refused, silent, reached);
	return 0;
}
