enum { BYTES, INODES, KINDS };

/* A wait ends when no more than low is free, of either kind. What is free above high raises both. */
struct mark {
	int fd; /* on the file system; marks on one follow each other */
	long long low[KINDS], high[KINDS];
};

struct watch {
	int stopped;
	long long last; /* look, in nanoseconds (CLOCK_MONOTONIC) */
};

/*
 * freespace_wait calls statfs looks times, each interval (in nanoseconds) after the last. It returns early when a mark is
 * reached, cannot be read, or the wait is stopped.
 */
void freespace_wait(struct watch *w, long long interval, long looks, struct mark *marks, int n);

void freespace_stop(struct watch *w);
