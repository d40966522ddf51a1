/*
 * SQLite extends the -shm file, which it maps, by one byte at the end of each 4 KiB (unixShmMap in os_unix.c). On a file system
 * with smaller blocks that leaves holes, and a write to a hole when no block is free is SIGBUS, in C, where Go cannot catch it.
 * Here such a byte becomes all that is missing of its 4 KiB, so that a full file system is an error of the write. SQLite writes no
 * other single byte beyond the end of a file.
 */
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096

/* struct sqlite3_vfs up to what is called here. It is public and only added to (sqlite.org/c3ref/vfs.html). */
typedef void (*system_call)(void);
struct vfs {
	int version, file_size, max_path;
	struct vfs *next;
	const char *name;
	void *data;
	void (*methods[13])(void);
	int (*set_system_call)(struct vfs *, const char *name, system_call);
	system_call (*get_system_call)(struct vfs *, const char *name);
};

/* It is linked from the driver's package: weak, because cgo links this package alone too. */
extern struct vfs *sqlite3_vfs_find(const char *name) __attribute__((weak));

static ssize_t write_page(int fd, const void *bytes, size_t count, off_t at)
{
	static const char zeros[PAGE];
	struct stat st;
	off_t from = at - (PAGE - 1);
	ssize_t wrote;

	if (count != 1 || *(const char *)bytes || from % PAGE || fstat(fd, &st) || st.st_size > at)
		return pwrite(fd, bytes, count, at);
	if (st.st_size > from)
		from = st.st_size;
	count = at + 1 - from;
	wrote = pwrite(fd, zeros, count, from);
	if (wrote < 0 || (size_t)wrote == count)
		return wrote < 0 ? wrote : 1;
	errno = ENOSPC;
	return -1;
}

__attribute__((constructor)) static void write_pages(void)
{
	static const char *const names[] = { "pwrite", "pwrite64" }; /* SQLite has one of them */
	struct vfs *vfs = sqlite3_vfs_find ? sqlite3_vfs_find("unix") : NULL;

	if (!vfs || vfs->version < 3)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (vfs->get_system_call(vfs, names[i]))
			(void)vfs->set_system_call(vfs, names[i], (system_call)write_page);
}
