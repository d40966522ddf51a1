/*
 * Makes sockets of every address family there is, also by numbers that a filter which compares 64 bits
 * and a kernel which takes 32 see differently. A family is within reach unless the kernel, or the filter,
 * says that there is none.
 *
 * item: 4
 * control kernel: family*
 * control root: raw*, packet by inet
 * inside EAFNOSUPPORT: family*
 */
#include "lib/attack.h"
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define FAMILIES 48 /* AF_MAX is 46 in Linux 6.18 */

static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP, SOCK_PACKET };

/* The error of the try that comes furthest: with any other error the kernel knows the family. */
static long furthest(long call, long family)
{
	size_t i;
	int pair[2];

	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (syscall(call, family, types[i], 0, pair) >= 0 || errno != EAFNOSUPPORT)
			return 0;
	return -1;
}

TRY(socket) { return furthest(SYS_socket, with); }
TRY(pair) { return furthest(SYS_socketpair, with); }
TRY(raw) { return syscall(SYS_socket, with, SOCK_RAW, IPPROTO_ICMP); }
TRY(packet) { return syscall(SYS_socket, AF_INET, SOCK_PACKET, 0x300); } /* becomes AF_PACKET in the kernel */

int main(int argc, char **argv)
{
	static struct try tries[4 * FAMILIES + 16];
	size_t n = 0;
	long family;

	for (family = 0; family < FAMILIES; family++) {
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
			tries[n++] = (struct try){ name("family %ld", family), try_socket, 0, family };
		if (family != AF_UNIX)
			tries[n++] = (struct try){ name("family %ld pair", family), try_pair, 0, family };
		tries[n++] = (struct try){ name("family %ld and bit 32", family), try_socket, 0, family | 1L << 32 };
		tries[n++] = (struct try){ name("family %ld and bit 63", family), try_socket, 0, family | 1L << 63 };
	}
	tries[n++] = (struct try){ "raw", try_raw, 0, AF_INET };
	tries[n++] = (struct try){ "raw 6", try_raw, 0, AF_INET6 };
	tries[n++] = (struct try){ "packet by inet", try_packet, 0, 0 };
	return attack(argc, argv, tries, n);
}
