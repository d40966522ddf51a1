/*
 * Makes sockets of every address family there is, also by numbers that a filter which compares 64 bits
 * and a kernel which takes 32 see differently. A family is within reach unless the kernel, or the filter,
 * says that there is none. And of the families that there are, makes those of other protocols than TCP and
 * UDP, which the kernel loads modules for.
 *
 * item: 4
 * control kernel: family*, protocol*
 * control root: raw*, packet by inet
 * inside EAFNOSUPPORT: family*
 * inside EPROTONOSUPPORT: protocol*
 * inside EPERM: raw*, packet*, protocol by type*
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


static const struct protocol { const char *name; long type, number; } protocols[] = {
	{ "mptcp", SOCK_STREAM, IPPROTO_MPTCP },
	{ "mptcp with bit 32", SOCK_STREAM, IPPROTO_MPTCP | 1L << 32 },
	{ "sctp", SOCK_STREAM, IPPROTO_SCTP },
	{ "udplite", SOCK_DGRAM, IPPROTO_UDPLITE },
	{ "by type, sctp", SOCK_SEQPACKET, 0 },
	{ "by type, dccp", SOCK_DCCP, 0 },
	{ "by type, tcp with bit 32", SOCK_STREAM | 1L << 32, 0 },
	{ "by type, udp that does not block, with bit 63", SOCK_DGRAM | SOCK_NONBLOCK | 1L << 63, IPPROTO_UDP },
};
#define PROTOCOLS (long)(sizeof protocols / sizeof *protocols)

TRY(protocol) { return syscall(SYS_socket, AF_INET, protocols[with].type, protocols[with].number); }
TRY(protocol6) { return syscall(SYS_socket, AF_INET6, protocols[with].type, protocols[with].number); }

int main(int argc, char **argv)
{
	static struct try tries[4 * FAMILIES + 2 * PROTOCOLS + 16];
	size_t n = 0;
	long family, p;

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
	for (p = 0; p < PROTOCOLS; p++) {
		tries[n++] = (struct try){ name("protocol %s", protocols[p].name), try_protocol, 0, p };
		tries[n++] = (struct try){ name("protocol %s, 6", protocols[p].name), try_protocol6, 0, p };
	}
	return attack(argc, argv, tries, n);
}
