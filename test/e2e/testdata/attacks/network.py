"""Connects to every address of the host, and to its unix sockets. Whether a datagram arrived is known by
the answer.

item: 1
needs: listeners
"""

import socket

from lib.attack import arena, attempt, report


def numeric(host, port):
    """Family and address: a link-local one names its interface, which may not be there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return family, socket.getaddrinfo(host, port, family, flags=socket.AI_NUMERICHOST)[0][4]


def reached(kind, family, address):
    with socket.socket(family, kind) as s:
        s.settimeout(30)
        s.connect(address)
        s.send(b"from the analysis")
        if kind == socket.SOCK_DGRAM:
            s.recv(64)


results = {}
for host, port in arena["tcp"]:
    results["tcp " + host] = attempt(lambda: reached(socket.SOCK_STREAM, *numeric(host, port)))
for host, port in arena["udp"]:
    results["udp " + host] = attempt(lambda: reached(socket.SOCK_DGRAM, *numeric(host, port)))
results["abstract socket"] = attempt(reached, socket.SOCK_STREAM, socket.AF_UNIX, "\0" + arena["abstract"])
results["socket"] = attempt(reached, socket.SOCK_STREAM, socket.AF_UNIX, arena["socket"])
report(results)
