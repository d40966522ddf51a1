"""Tries to read the canary of a PostgreSQL by every address. The argument, JSON, says what and where."""

import json
import socket
import sys

from attempt import attempt, report
from postgres import ask, greeting, read_canary
from turn import wait_for

MPTCP = 262  # IPPROTO_MPTCP, which Python 3.11 does not name

at = json.loads(sys.argv[1])
database = at["database"]
found = {}
held = []  # so that the server can be asked who is there


def numeric(host):
    """Family and address; a link-local one names its interface, which may not be there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return family, socket.getaddrinfo(host, database["port"], family, flags=socket.AI_NUMERICHOST)[0][4]


def connect(host, protocol=0):
    held.append(ask(*numeric(host), database, protocol))


def fast_open(host):
    """Connects with the first data, by sendto(2) and not by connect(2)."""
    family, address = numeric(host)
    s = socket.socket(family, socket.SOCK_STREAM)  # without a timeout: it would not wait at all
    s.sendto(greeting(database), socket.MSG_FASTOPEN, address)
    read_canary(s, database, greet=False)
    held.append(s)


def by_name(host):
    """As a driver does it."""
    s = socket.create_connection((host, database["port"]), 60)
    read_canary(s, database)
    held.append(s)


for host in at["hosts"]:
    found["tcp " + host] = attempt(connect, host)
    found["mptcp " + host] = attempt(connect, host, MPTCP)
    found["fast open " + host] = attempt(fast_open, host)
found["by name"] = attempt(by_name, "localhost")
wait_for(at["end"])
report(found)
