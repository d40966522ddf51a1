/*
 * Landlock (landlock(7)): what an analysis may reach in file systems is bounded a second time, by rules that belong to inodes and not to a
 * mount namespace. What lies outside of the container stays out of reach where a descriptor of it leaks in or a mount is misplaced.
 *
 * The analysis is restricted and not this process, so that signals can be scoped: what sends them stands outside.
 */
#include "report.h"
#include "sys.h"

/* The kernel's header of the machine that compiles this may be older than the kernel that runs it: the interface is said here. */

/* With version 1 no file could be renamed or linked into another directory: it is not used. NEWEST is what is known here. */
enum { LANDLOCK_OLDEST = 2, LANDLOCK_NEWEST = 7 };

/* Since version 7 refusals are logged where the host audits; an analysis should not fill that log. */
enum { LANDLOCK_LOGS = 7, LANDLOCK_NO_LOG = 1 << 0 };

/* landlock_version returns the version that holds, 0 where the kernel has none, or -errno. */
static int landlock_version(void)
{
	long version = CALL(landlock_create_ruleset, NULL, 0, 1);

	if (version == -ENOSYS || version == -EOPNOTSUPP || (version > 0 && version < LANDLOCK_OLDEST))
		return 0;
	return version > LANDLOCK_NEWEST ? LANDLOCK_NEWEST : (int)version;
}

/* landlock_restrict binds this process and its children to rules, for good. It returns 0 or -errno. */
static long landlock_restrict(int rules, int version)
{
	return CALL(landlock_restrict_self, rules, version < LANDLOCK_LOGS ? 0 : LANDLOCK_NO_LOG);
}

enum {
	EXECUTE = 1 << 0, WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIR = 1 << 3,
	REMOVE_DIR = 1 << 4, REMOVE_FILE = 1 << 5, MAKE_CHAR = 1 << 6, MAKE_DIR = 1 << 7, MAKE_REG = 1 << 8,
	MAKE_SOCK = 1 << 9, MAKE_FIFO = 1 << 10, MAKE_BLOCK = 1 << 11, MAKE_SYM = 1 << 12,
	REFER = 1 << 13,    /* version 2 */
	TRUNCATE = 1 << 14, /* version 3 */
	IOCTL_DEV = 1 << 15 /* version 5 */
};

/* Devices too: the kernel itself refuses all but whiteouts, with an error that programs know. */
enum {
	MAY_READ = EXECUTE | READ_FILE | READ_DIR,
	MAY_WRITE = MAY_READ | WRITE_FILE | TRUNCATE | REFER | REMOVE_DIR | REMOVE_FILE | MAKE_CHAR | MAKE_BLOCK | MAKE_DIR |
		    MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM,
	MAY_USE = READ_FILE | READ_DIR | WRITE_FILE | IOCTL_DEV
};

enum { ABSTRACT_SOCKETS = 1 << 0, SIGNALS = 1 << 1 };

enum { PATH_BENEATH = 1 };

struct handled { /* struct landlock_ruleset_attr; older kernels take it where what they do not know is 0 */
	uint64_t files, network, scoped;
};

struct beneath { /* struct landlock_path_beneath_attr */
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

static uint64_t rights(int version)
{
	uint64_t all = 2 * IOCTL_DEV - 1;

	if (version < 5)
		all &= ~(uint64_t)IOCTL_DEV;
	if (version < 3)
		all &= ~(uint64_t)TRUNCATE;
	return all;
}

static int allow(int ruleset, int fd, uint64_t what)
{
	struct beneath rule = { what, fd };

	return (int)CALL(landlock_add_rule, ruleset, PATH_BENEATH, &rule, 0);
}

static int allow_path(int ruleset, const char *path, uint64_t what)
{
	long fd = open(path, O_PATH | O_CLOEXEC);
	int err;

	if (fd < 0)
		return (int)fd;
	err = allow(ruleset, (int)fd, what);
	close((int)fd);
	return err;
}

/* allow_input is for /dev/stdin: standard input may be a device of the host's. The kernel wants no rule for a pipe (EBADFD). */
static int allow_input(int ruleset, uint64_t all)
{
	int err = allow(ruleset, STDIN_FILENO, MAY_USE & ~READ_DIR & all);

	return err == -EBADFD ? 0 : err;
}

static int fill(int ruleset, const struct reach *r, uint64_t all)
{
	static const uint64_t classes[] = { [READ] = MAY_READ, [WRITE] = MAY_WRITE, [USE] = MAY_USE };
	int err = allow_input(ruleset, all);

	for (size_t i = 0; i < r->count && !err; i++)
		err = allow_path(ruleset, r->places[i].path, classes[r->places[i].may] & all);
	return err;
}

int make_rules(const struct reach *r, struct rules *rules)
{
	int version = landlock_version();
	struct handled handled = { rights(version), 0, version < 6 ? 0 : ABSTRACT_SOCKETS | SIGNALS };
	long fd;
	int err;

	rules->version = version;
	rules->fd = -1;
	if (version <= 0)
		return version;
	fd = CALL(landlock_create_ruleset, &handled, sizeof handled, 0);
	if (fd < 0)
		return (int)fd;
	err = fill((int)fd, r, handled.files);
	if (!err)
		rules->fd = (int)fd;
	return err;
}

int keep_rules(const struct rules *rules)
{
	if (rules->fd < 0)
		return 0;
	return (int)landlock_restrict(rules->fd, rules->version);
}
