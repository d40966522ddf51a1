"""Connects to every address of the host, and to its unix sockets. Whether a datagram arrived is known by
the answer.

item: 1
needs: listeners
inside zone: tcp *, udp *
inside loopback: loopback *
inside abstract: abstract socket
inside socket: socket
"""

import ipaddress
import socket

from lib.attack import arena, attempt, report


def numeric(host, port):
    """Family and address. A link-local one names its interface; if that is not there, it is tried by loopback, which is."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.getaddrinfo(host, port, family, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        found = socket.getaddrinfo(host.split("%")[0] + "%lo", port, family, flags=socket.AI_NUMERICHOST)
    return family, found[0][4]


def reached(kind, family, address):
    with socket.socket(family, kind) as s:
        s.settimeout(30)
        s.connect(address)
        s.send(b"from the analysis")
        if kind == socket.SOCK_DGRAM:
            s.recv(64)


def named(kind, host):
    """The container has a loopback too, on which nothing listens: only there a connection may be refused."""
    return ("loopback " if ipaddress.ip_address(host).is_loopback else "") + kind + " " + host


results = {}
for host, port in arena["tcp"]:
    results[named("tcp", host)] = attempt(lambda: reached(socket.SOCK_STREAM, *numeric(host, port)))
for host, port in arena["udp"]:
    results[named("udp", host)] = attempt(lambda: reached(socket.SOCK_DGRAM, *numeric(host, port)))
results["abstract socket"] = attempt(reached, socket.SOCK_STREAM, socket.AF_UNIX, "\0" + arena["abstract"])
results["socket"] = attempt(reached, socket.SOCK_STREAM, socket.AF_UNIX, arena["socket"])
report(results)
