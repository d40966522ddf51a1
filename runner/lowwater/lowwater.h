enum { BYTES, INODES, KINDS };

/*
 * A wait is over when a file system has as little free as low or less, of either kind. What is free above high raises both.
 */
struct mark {
	int fd; /* on the file system; marks on one follow each other */
	long long low[KINDS], high[KINDS];
};

struct watch {
	int stopped;
	long long last; /* look, in nanoseconds (CLOCK_MONOTONIC) */
};

/*
 * lowwater_wait looks so many times at what is free, so many nanoseconds after the last look each. It returns early where one
 * mark is reached or cannot be read, and when it is stopped.
 */
void lowwater_wait(struct watch *w, long long each, long looks, struct mark *marks, int n);

void lowwater_stop(struct watch *w);
