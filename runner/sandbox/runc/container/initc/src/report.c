#include "report.h"
#include "sys.h"

int64_t now(void)
{
	struct timespec t = { 0, 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void report(uint32_t kind, int32_t value)
{
	struct report r = { kind, value, now() };
	while (write(REPORT_FD, &r, sizeof r) == -EINTR)
		;
}

int report_descriptor(uint32_t kind, int32_t value, int fd)
{
	struct report r = { kind, value, now() };
	struct iovec part = { &r, sizeof r };
	struct {
		struct cmsghdr header;
		int fd;
	} rights = { { offsetof(__typeof__(rights), fd) + sizeof fd, SOL_SOCKET, SCM_RIGHTS }, fd };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights,
	};
	ssize_t n;

	while ((n = sendmsg(REPORT_FD, &message, 0)) == -EINTR)
		;
	return n < 0 ? (int)n : 0;
}

int heard(void)
{
	char byte = 0;

	while (read(REPORT_FD, &byte, sizeof byte) == -EINTR)
		;
	return byte;
}
