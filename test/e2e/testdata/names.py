"""Tries to ask name servers of the host. The argument, JSON, says which, and for what name."""

import json
import socket
import struct
import sys

from attempt import attempt, report

at = json.loads(sys.argv[1])
found = {}
LABELS = b"".join(bytes([len(label)]) + label.encode() for label in at["name"].split("."))
# One question, recursion desired, for an address of the Internet (RFC 1035, 4.1).
QUERY = struct.pack("!6H", 0x5343, 0x0100, 1, 0, 0, 0) + LABELS + b"\0" + struct.pack("!2H", 1, 1)


def numeric(host, port, kind):
    return socket.getaddrinfo(host, port, type=kind, flags=socket.AI_NUMERICHOST)[0]


def check(reply):
    if not reply.endswith(socket.inet_aton(at["answer"])):
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


for host, port in at["servers"]:
    found["udp " + host] = attempt(unconnected, host, port)
    found["connected udp " + host] = attempt(connected, host, port)
    found["tcp " + host] = attempt(stream, host, port)
found["multicast"] = attempt(multicast, *at["group"])
if at["library"]:
    found["library"] = attempt(socket.getaddrinfo, at["name"], 80, socket.AF_INET)
report(found)
