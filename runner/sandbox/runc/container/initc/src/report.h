/*
 * What scidex-init and the supervisor tell each other, on a socket (SOCK_SEQPACKET): first the supervisor, in one message,
 * the program of the filter of system calls; then scidex-init, one struct report in each message; and the supervisor one byte
 * when what was started ahead may begin, and one in answer to LEFT.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stddef.h>
#include <stdint.h>

enum { REPORT_FD = 3 };

/* Only with --ahead: the pipe on which the interpreter says what it has imported, and the one that it waits for. */
enum { NOTE_FD = 4, GATE_FD = 5 };

/* When what was started ahead may begin. */
enum answer { PASS = 1, ANEW = 2 };

enum report_kind {
	EXECUTED = 1, /* value: 0 */
	REFUSED = 2,  /* value: errno of execve(2) */
	ENDED = 3,    /* value: the wait status of the analysis */
	MAXRSS = 4,   /* value: the greatest resident set of what was reaped, in KiB */
	CPU = 5,      /* value: user and system time of what was reaped, in milliseconds */
	AUDITED = 6,  /* with the descriptor of the audit's notifications; value: 0 */
	UNHEARD = 7,  /* value: errno of what the audit needs */
	OPEN = 8,     /* value: errno; there is no filter, and nothing is run */
	BEGUN = 9,    /* value: 0; only with --trace, as is FILTERED */
	FILTERED = 10,
	LEFT = 11,    /* value: 0; processes are left, and stopped: the supervisor looks at them, and answers with a byte */
	RULED = 13,   /* value: the version of Landlock, 0 where the kernel has none */
	UNRULED = 14, /* value: errno; the kernel has Landlock and does not take the rules, and nothing is run */
};

struct report {
	uint32_t kind;
	int32_t value;
	int64_t at; /* CLOCK_MONOTONIC, in nanoseconds */
};

/* now is the time of a report. */
int64_t now(void);

void report(uint32_t kind, int32_t value);

/* report_descriptor reports with a descriptor (unix(7), SCM_RIGHTS), which the kernel holds on its way. It returns 0 or -errno. */
int report_descriptor(uint32_t kind, int32_t value, int fd);

/* heard waits for a byte of the supervisor and returns it; 0 where that is gone. */
int heard(void);

/* load_filter gives this process and its children the filter of system calls, for good. It returns 0 or
 * -errno. */
int load_filter(void);

/* What an analysis may do below the places that it sees. */
enum may { READ, WRITE, USE };

enum { MOST_PLACES = 16 };

struct reach {
	size_t count; /* 0: nothing is ruled */
	struct place {
		enum may may;
		const char *path;
	} places[MOST_PLACES];
};

struct rules {
	int fd; /* -1: none */
	int version;
};

/* make_rules makes the rules of Landlock by which nothing is reached but the places, as far as the kernel has it. It returns 0 or -errno. */
int make_rules(const struct reach *r, struct rules *rules);

/* keep_rules binds this process and its children to the rules, for good. It returns 0 or -errno. */
int keep_rules(const struct rules *rules);

/* audit has the supervisor asked before certain calls of this process and its children, for good. It
 * returns 0 or -errno. */
int audit(void);

#endif
