"""Asks the host's name servers, each for a name of its own so that they can tell who asked.

item: 1
needs: nameserver

A datagram that nobody receives on a run's own loopback is only known by the answer that does not come.
"""

import ctypes
import socket
import struct

from lib.attack import arena, attempt, report

CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18

LABELS = b"".join(bytes([len(label)]) + label.encode() for label in arena["name"].split("."))
# One question, recursion desired, for an address of the Internet (RFC 1035, 4.1).
QUERY = struct.pack("!6H", 0x5343, 0x0100, 1, 0, 0, 0) + LABELS + b"\0" + struct.pack("!2H", 1, 1)


def numeric(host, port, kind):
    return socket.getaddrinfo(host, port, type=kind, flags=socket.AI_NUMERICHOST)[0]


def check(reply):
    if not reply.endswith(socket.inet_aton(arena["answer"])):
        raise ConnectionError(0, repr(reply))


def open_socket(host, port, kind):
    family, _, _, _, address = numeric(host, port, kind)
    s = socket.socket(family, kind)
    s.settimeout(2)
    return s, address


def unconnected(host, port):
    s, address = open_socket(host, port, socket.SOCK_DGRAM)
    with s:
        s.sendto(QUERY, address)
        check(s.recv(512))


def connected(host, port):
    s, address = open_socket(host, port, socket.SOCK_DGRAM)
    with s:
        s.connect(address)
        s.send(QUERY)
        check(s.recv(512))


def stream(host, port):
    s, address = open_socket(host, port, socket.SOCK_STREAM)
    with s:
        s.connect(address)
        s.sendall(struct.pack("!H", len(QUERY)) + QUERY)
        check(s.recv(512))


def multicast(group, port):
    """As multicast DNS (RFC 6762) asks everyone, here on loopback alone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        s.sendto(QUERY, (group, port))
        check(s.recv(512))


def hide(path):
    """For this process alone, and only as the control."""
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)
            or libc.mount(b"/dev/null", path.encode(), None, MS_BIND, None)):
        raise OSError(ctypes.get_errno(), "hide " + path)


def library(name):
    """By the C library, which without /etc/resolv.conf, as inside, asks 127.0.0.1 (resolv.conf(5))."""
    if arena["hide"]:
        hide("/etc/resolv.conf")
    socket.getaddrinfo(name, 80, socket.AF_INET)


found = {}
for host, port in arena["servers"]:
    found["udp " + host] = attempt(unconnected, host, port)
    found["connected udp " + host] = attempt(connected, host, port)
    found["tcp " + host] = attempt(stream, host, port)
found["multicast"] = attempt(multicast, *arena["group"])
if arena["library"]:
    found["library"] = attempt(library, arena["name"])
report(found)
