"""Reads the canary of a PostgreSQL by every address of the host.

item: 1
needs: database
control kernel: mptcp*
inside ECONNREFUSED: *
inside ENETUNREACH: *
inside ENODEV: *
inside EPROTONOSUPPORT: mptcp*
"""

import socket

from lib.attack import arena, attempt, report
from lib.postgres import ask, greeting, read_canary

MPTCP = 262  # IPPROTO_MPTCP, which Python 3.11 does not name

database = arena["database"]


def numeric(host):
    """Family and address; a link-local one names its interface, which may not be there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return family, socket.getaddrinfo(host, database["port"], family, flags=socket.AI_NUMERICHOST)[0][4]


def connect(host, protocol=0):
    ask(*numeric(host), database, protocol)


def fast_open(host):
    """Connects with the first data, by sendto(2) and not by connect(2)."""
    family, address = numeric(host)
    with socket.socket(family, socket.SOCK_STREAM) as s:  # without a timeout: it would not wait at all
        s.sendto(greeting(database), socket.MSG_FASTOPEN, address)
        read_canary(s, database, greet=False)


def by_name(name):
    """As a driver does it."""
    with socket.create_connection((name, database["port"]), 60) as s:
        read_canary(s, database)


found = {"by name": attempt(by_name, "localhost")}
for host in arena["hosts"]:
    found["tcp " + host] = attempt(connect, host)
    found["mptcp " + host] = attempt(connect, host, MPTCP)
    found["fast open " + host] = attempt(fast_open, host)
report(found)
