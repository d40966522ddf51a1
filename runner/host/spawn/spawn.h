#include <signal.h>
#include <sys/types.h>

enum { SPAWN_FILES = 8 };

/*
 * What the caller and the process that it has cloned share until that has executed: both see the same memory.
 */
struct spawn {
	/* Set before the clone. */
	int files[SPAWN_FILES]; /* they become 0, 1, 2...; none is as small as their number */
	int n;
	int gate, caller; /* a byte on the first says go on, its end says go away; the second is the caller's end of it */

	/* Set before the gate is opened. */
	const char *path;
	char **args;
	int root; /* become root of the user namespace, with no other group */

	/* Set by the process if it fails. */
	int error; /* of errno */
	const char *step;

	sigset_t mask; /* of the caller */
	void *stack;
};

/* spawn_clone returns the process that waits at the gate, or the negative of errno. */
pid_t spawn_clone(struct spawn *s, unsigned long namespaces);

/* spawn_free is called when the process has executed or ended. */
void spawn_free(struct spawn *s);
