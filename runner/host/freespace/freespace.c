#define _GNU_SOURCE
#include "freespace.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static int reached(struct mark *m, const struct statfs *st) {
	const long long free[KINDS] = {
		[BYTES] = (long long)st->f_bavail * st->f_bsize,
		[INODES] = (long long)st->f_ffree,
	};
	int low = 0;

	for (int k = 0; k < KINDS; k++) {
		if (free[k] > m->high[k]) {
			m->low[k] += free[k] - m->high[k];
			m->high[k] = free[k];
		}
		low |= free[k] <= m->low[k];
	}
	return low;
}

/* look reports whether a wait is over. It reads every mark, since each may have to be raised. */
static int look(struct mark *marks, int n) {
	struct statfs st;
	int over = 0;

	for (int i = 0; i < n; i++) {
		if ((i == 0 || marks[i].fd != marks[i - 1].fd) && fstatfs(marks[i].fd, &st) != 0)
			return 1;
		over |= reached(&marks[i], &st);
	}
	return over;
}

static long long now(void) {
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

/* rest waits until the next look is due, counted from the last one, however long that took. */
static void rest(struct watch *w, long long interval) {
	if (w->last == 0)
		w->last = now();
	const long long due = w->last + interval;
	const struct timespec until = {due / SECOND, due % SECOND};

	/* FUTEX_WAIT_BITSET takes an absolute time (futex(2)); a signal only makes a look early. */
	syscall(SYS_futex, &w->stopped, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, NULL, FUTEX_BITSET_MATCH_ANY);
	w->last = now();
	if (w->last - due < interval)
		w->last = due;
}

void freespace_wait(struct watch *w, long long interval, long looks, struct mark *marks, int n) {
	for (long i = 0; i < looks; i++) {
		rest(w, interval);
		if (__atomic_load_n(&w->stopped, __ATOMIC_SEQ_CST) || look(marks, n))
			return;
	}
}

void freespace_stop(struct watch *w) {
	__atomic_store_n(&w->stopped, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &w->stopped, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
