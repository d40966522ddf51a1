/* Threads, as they were counted on a machine with two cores. */
enum {
	ROOM_COUNTED = 1024, /* limits up to this are compared with what is there */
	ROOM_GO = 7,         /* of a Go program that does little, beside its first */
	ROOM_RUN = 24,       /* of launcher, supervisor and container of one run, without the analysis */
};

/* room_threads counts the threads of a user, and of count ids from start. */
unsigned long room_threads(unsigned int uid, unsigned int start, unsigned int count);
