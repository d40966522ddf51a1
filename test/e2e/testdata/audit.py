"""Tries what an audit notes, and what it must not."""

import ctypes
import errno
import os
import socket
import tempfile

problems = []


def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as s:
        s.settimeout(10)
        return s.connect_ex(address)


def expect(what, got, want):
    if got != want:
        problems.append(f"{what}: {errno.errorcode.get(got, got)}, want {errno.errorcode.get(want, want)}")


INET, INET6, UNIX, DATAGRAM = socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.SOCK_DGRAM
for _ in range(2):
    expect("loopback", connect(INET, ("127.0.0.1", 5432)), errno.ECONNREFUSED)
expect("loopback 6", connect(INET6, ("::1", 5432)), errno.ECONNREFUSED)
expect("network", connect(INET, ("192.0.2.1", 80)), errno.ENETUNREACH)
expect("datagram", connect(INET, ("192.0.2.1", 53), DATAGRAM), errno.ENETUNREACH)
with socket.socket(INET, DATAGRAM) as s:
    try:
        s.sendto(b"x", ("192.0.2.1", 53))
        expect("sendto", 0, errno.ENETUNREACH)
    except OSError as e:
        expect("sendto", e.errno, errno.ENETUNREACH)
expect("PostgreSQL", connect(UNIX, "/run/postgresql/.s.PGSQL.5432"), errno.ENOENT)
expect("missing", connect(UNIX, "/data/s"), errno.ENOENT)
expect("abstract", connect(UNIX, b"\0\x1b[2Jhost\xff"), errno.ECONNREFUSED)
for family in socket.AF_NETLINK, socket.AF_VSOCK:
    try:
        socket.socket(family, DATAGRAM).close()
        expect(str(family), 0, errno.EAFNOSUPPORT)
    except OSError as e:
        expect(str(family), e.errno, errno.EAFNOSUPPORT)
# The kernel takes an int, and a filter sees 64 bits.
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] * 4
SYS_socket = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
if libc.syscall(SYS_socket, socket.AF_VSOCK | 1 << 32, DATAGRAM, 0) != -1:
    problems.append("a socket of a family with bit 32")
expect("family with bit 32", ctypes.get_errno(), errno.EAFNOSUPPORT)

# Its own servers, of every kind.
directory = tempfile.mkdtemp()
os.chdir(directory)
for family, address in (INET, ("127.0.0.1", 0)), (INET6, ("::1", 0)), (UNIX, directory + "/s"), (UNIX, "r"), (UNIX, b"\0own\0x"):
    with socket.socket(family) as server:
        server.bind(address)
        server.listen()
        expect(f"own {address}", connect(family, server.getsockname()), 0)
with socket.socket(INET, DATAGRAM) as server, socket.socket(INET, DATAGRAM) as client:
    server.bind(("127.0.0.1", 0))
    client.sendto(b"x", server.getsockname())
    expect("own datagram", server.recv(1), b"x")
a, b = socket.socketpair()
a.send(b"x")
expect("pair", b.recv(1), b"x")
print("\n".join(problems) or "as expected")
