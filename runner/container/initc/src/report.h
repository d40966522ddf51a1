/*
 * What scidex-init and the supervisor tell each other, on a socket (SOCK_SEQPACKET): first the supervisor, in one message,
 * the program of the filter of system calls; then scidex-init, one struct report in each message; and the supervisor one byte
 * when what was started ahead may begin, one in answer to LEFT, and a wait status when a forked analysis has ended.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stddef.h>
#include <stdint.h>

enum { REPORT_FD = 3 };

/* Only with --ahead: the pipe on which the interpreter says what it has imported, and the one that it waits for. */
enum { NOTE_FD = 4, GATE_FD = 5 };

/* Only of a template: where the supervisor orders forks. In the forked process the gate takes its place. */
enum { CONTROL_FD = 5 };

/* Only of a forked process, until it has restricted itself: the rules that the init of its container has made. */
enum { RULES_FD = 6 };

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
	WAITS = 12,   /* value: 0; an analysis can be forked into the container */
	LEFT = 11,    /* value: 0; processes are left, and stopped: the supervisor looks at them, and answers with a byte */
	RULED = 13,   /* value: the version of Landlock, 0 where the kernel has none; with --forked with the descriptor of the rules */
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

/*
 * done returns 1 with the wait status of an analysis that is the supervisor's child, once the supervisor has sent it. The signal
 * that comes with it proves nothing: any process may queue one.
 */
int done(int *status);

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

/* become_template drops all privileges and loads the filters, as whose heirs analyses are forked. It returns 0 or -errno. */
int become_template(int audited);

/*
 * audit_template is audit for a template: the supervisor is asked about setns(2) too, which it lets pass only during a fork that
 * it has ordered. Without audited it is asked about nothing else.
 */
int audit_template(int audited);

/* audit has the supervisor asked before certain calls of this process and its children, for good. It
 * returns 0 or -errno. */
int audit(void);

#endif
