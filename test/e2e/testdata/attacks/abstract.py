"""Looks for unix sockets with abstract names, behind one of which a PostgreSQL answers.

item: 3
needs: abstract
inside ECONNREFUSED: *
inside ENOENT: listed *
"""

import socket

from lib.attack import arena, attempt, report
from lib.postgres import ask

TEXT = b"from the analysis"


def stream(name):
    ask(socket.AF_UNIX, "\0" + name, arena["database"])


def packet(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect("\0" + name)
        s.send(TEXT)


def datagram(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(TEXT, "\0" + name)


def connected_datagram(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.connect("\0" + name)
        s.send(TEXT)


def listed(name):
    """proc_net(5): every socket of the network namespace is listed for everyone."""
    with open("/proc/net/unix") as f:
        if not any(line.split()[-1] == "@" + name for line in f):
            raise FileNotFoundError(2, "not listed")


def by_credentials(name):
    """With a message that carries descriptors."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendmsg([TEXT], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, (0).to_bytes(4, "little"))], 0, "\0" + name)


names = arena["abstract"]
found = {"listed " + kind: attempt(listed, name) for kind, name in names.items()}
found["stream"] = attempt(stream, names["stream"])
found["packet"] = attempt(packet, names["packet"])
for action in datagram, connected_datagram, by_credentials:
    found[action.__name__.replace("_", " ")] = attempt(action, names["datagram"])
report(found)
