#define _GNU_SOURCE
#include "lowwater.h"

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

/* look reports whether a wait is over. Every mark is looked at: each may have to be raised. */
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

/* rest waits until the next look is due: what was done since the last one does not make it late. */
static void rest(struct watch *w, long long each) {
	if (w->last == 0)
		w->last = now();
	const long long due = w->last + each;
	const struct timespec until = {due / SECOND, due % SECOND};

	/* With a bit set the time is absolute (futex(2)); a signal only makes a look early. */
	syscall(SYS_futex, &w->stopped, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, NULL, FUTEX_BITSET_MATCH_ANY);
	w->last = now();
	if (w->last - due < each)
		w->last = due;
}

void lowwater_wait(struct watch *w, long long each, long looks, struct mark *marks, int n) {
	for (long i = 0; i < looks; i++) {
		rest(w, each);
		if (__atomic_load_n(&w->stopped, __ATOMIC_SEQ_CST) || look(marks, n))
			return;
	}
}

void lowwater_stop(struct watch *w) {
	__atomic_store_n(&w->stopped, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &w->stopped, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
