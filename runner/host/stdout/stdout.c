/*
 * A standard output that the caller has closed (>&-) must fail like a full one: who asks for JSON and gets none must not
 * see success. Go opens /dev/null in its place, which takes everything, so this runs before Go. What stands in its place
 * here cannot be written (EBADF), as the closed one could not, and no file that is opened later takes the number.
 */
#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void hold(void)
{
	int fd;

	if (fcntl(STDOUT_FILENO, F_GETFD) >= 0)
		return;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fd == STDOUT_FILENO) {
		(void)fcntl(fd, F_SETFD, 0); /* like any standard stream */
		return;
	}
	(void)dup2(fd, STDOUT_FILENO);
	close(fd);
}
