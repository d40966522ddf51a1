/*
 * glibc gives threads that allocate at once an arena each, up to eight for a processor, and keeps what was freed in it. SQLite is called
 * by as many threads as runs end at a time: a process that goes on for long would keep megabytes for each. One arena is enough, since
 * SQLite waits for the disk, not for malloc.
 */
#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>

__attribute__((constructor)) static void one_arena(void)
{
	(void)mallopt(M_ARENA_MAX, 1);
}
#endif
