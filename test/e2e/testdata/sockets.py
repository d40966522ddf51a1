"""Tries to read the canary of a PostgreSQL by every path to a socket. The argument, JSON, says what and
where: "bases" are directories, in which sockets appear when the analysis has started."""

import json
import os
import socket
import sys

from attacks.lib.attempt import attempt, report
from attacks.lib.postgres import ask
from turn import wait_for

at = json.loads(sys.argv[1])
database = at["database"]
found = {}
top = os.getcwd()


def stream(path):
    ask(socket.AF_UNIX, path, database)


def packet(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(path)
        s.send(b"from the analysis")


def datagram(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"from the analysis", path)


def connected_datagram(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.connect(path)
        s.send(b"from the analysis")


def fifo(path):
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(fd, b"from the analysis")
    os.close(fd)


def by_descriptor(path):
    """The socket's own descriptor, without its path."""
    fd = os.open(path, os.O_PATH)
    try:
        stream(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)


def from_inside(base, name):
    """From the directory itself: nothing of its path is looked up."""
    os.chdir(base)
    try:
        stream(name)
    finally:
        os.chdir(top)


def linked(path):
    """From a place where the analysis may write."""
    if os.path.lexists("taken"):
        os.unlink("taken")
    os.link(path, "taken", follow_symlinks=False)
    stream("taken")


def of_process(process, path):
    stream(f"/proc/{process}/root{os.path.abspath(path)}")


def upwards(path):
    stream("../" * 10 + path.lstrip("/"))  # as deep as none of the directories is; a longer path is none (unix(7))


class Base:
    """A directory with sockets. It is opened, and some names are looked up, before there are any."""

    def __init__(self, path):
        self.path = path
        self.fd = os.open(path, os.O_PATH)
        for name in at["seen"]:
            os.path.lexists(self.join(name))
        os.listdir(path)

    def join(self, name):
        return os.path.join(self.path, name)

    def roads(self):
        for name in at["streams"]:
            yield name, lambda name=name: stream(self.join(name))
        late = self.join("late")
        yield "late by the directory's descriptor", lambda: stream(f"/proc/self/fd/{self.fd}/late")
        yield "late by its own descriptor", lambda: by_descriptor(late)
        yield "late from inside", lambda: from_inside(self.path, "late")
        yield "late by /proc/self/root", lambda: of_process("self", late)
        yield "late by /proc/thread-self/root", lambda: of_process("thread-self", late)
        yield "late by /proc/self/cwd", lambda: stream("/proc/self/cwd/" + os.path.relpath(late, top))
        yield "late upwards", lambda: upwards(os.path.realpath(late))
        yield "late linked", lambda: linked(late)
        yield "packet", lambda: packet(self.join("packet"))
        yield "datagram", lambda: datagram(self.join("datagram"))
        yield "connected datagram", lambda: connected_datagram(self.join("datagram"))
        yield "fifo", lambda: fifo(self.join("fifo"))


def server_roads():
    for path in at["sockets"]:
        yield path, lambda path=path: stream(path)
        yield path + " by /proc/self/root", lambda path=path: of_process("self", path)
        yield path + " by /proc/1/root", lambda path=path: of_process(1, path)
        yield path + " upwards", lambda path=path: upwards(path)
        if path.startswith("/run/"):
            yield path + " by /var", lambda path=path: stream("/var" + path)


bases = [Base(path) for path in at["bases"]]
wait_for(at["end"])
for base in bases:
    for name, road in base.roads():
        found[f"{base.path}: {name}"] = attempt(road)
for name, road in server_roads():
    found[name] = attempt(road)
report(found)
