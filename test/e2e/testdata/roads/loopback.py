"""Loopback, and what /proc lists of it."""

import socket

from .road import Road, at, demand, marker, read, told


class Stream(Road):
    """A server whose port the seeker is told."""

    def __init__(self, name, family, host):
        super().__init__(name)
        self.family, self.host = family, host

    def leave(self):
        self.socket = socket.socket(self.family)
        self.socket.bind((self.host, 0))
        self.socket.listen()
        told[self.host] = self.socket.getsockname()[1]

    def find(self):
        with socket.socket(self.family) as s:
            s.connect((self.host, at["told"][self.host]))

    def felt(self):
        self.socket.setblocking(False)
        self.socket.accept()


class Datagram(Road):
    def leave(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        told["datagram"] = self.socket.getsockname()[1]

    def find(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.1", at["told"]["datagram"]))
            s.send(marker.encode())
            s.send(marker.encode())  # an error of the first is told here

    def felt(self):
        self.socket.setblocking(False)
        demand(self.socket.recv(100), "a datagram")


class Listed(Road):
    def find(self):
        demand(b"@" + marker.encode() in read("/proc/net/unix"), "an abstract name")
        demand(b"0100007F:%04X" % at["told"]["127.0.0.1"] in read("/proc/net/tcp"), "a port")


roads = [
    Stream("port of 127.0.0.1", socket.AF_INET, "127.0.0.1"),
    Stream("port of ::1", socket.AF_INET6, "::1"),
    Datagram("datagram to 127.0.0.1"),
    Listed("lists of sockets"),
]
