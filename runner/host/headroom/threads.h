/* Threads, as they were counted on a machine with two cores. */
enum {
	HEADROOM_COUNTED = 1024, /* limits up to this are compared with what is there */
	HEADROOM_GO = 7,         /* of a Go program that does little, without its first */
	HEADROOM_RUN = 24,       /* of launcher, supervisor and container of one run, without the analysis */
};

/* headroom_threads counts the threads of a user, and of count ids from start. */
unsigned long headroom_threads(unsigned int uid, unsigned int start, unsigned int count);
