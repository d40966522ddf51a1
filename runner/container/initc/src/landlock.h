/*
 * Landlock (landlock(7)), as scidex-init and what is forked from a template call it. The kernel's header of the machine that compiles this
 * may be older than the kernel that runs it: the interface is said here.
 */
#ifndef LANDLOCK_H
#define LANDLOCK_H

#include "sys.h"

/* With version 1 no file could be renamed or linked into another directory: it is not used. NEWEST is what is known here. */
enum { LANDLOCK_OLDEST = 2, LANDLOCK_NEWEST = 7 };

/* Since version 7 refusals are logged where the host audits; an analysis should not fill that log. */
enum { LANDLOCK_LOGS = 7, LANDLOCK_NO_LOG = 1 << 0 };

/* landlock_version returns the version that holds, 0 where the kernel has none, or -errno. */
static inline int landlock_version(void)
{
	long version = CALL(landlock_create_ruleset, NULL, 0, 1);

	if (version == -ENOSYS || version == -EOPNOTSUPP || (version > 0 && version < LANDLOCK_OLDEST))
		return 0;
	return version > LANDLOCK_NEWEST ? LANDLOCK_NEWEST : (int)version;
}

/* landlock_restrict binds this process and its children to rules, for good. It returns 0 or -errno. */
static inline long landlock_restrict(int rules, int version)
{
	return CALL(landlock_restrict_self, rules, version < LANDLOCK_LOGS ? 0 : LANDLOCK_NO_LOG);
}

#endif
