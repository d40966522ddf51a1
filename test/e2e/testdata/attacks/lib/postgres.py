"""A client of PostgreSQL with nothing but sockets: its protocol, version 3.0, by hand."""

import errno
import socket
import struct


def string(text):
    return text.encode() + b"\0"


def message(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body


def receive(s, size):
    data = b""
    while len(data) < size:
        more = s.recv(size - len(data))
        if not more:
            raise ConnectionResetError(errno.ECONNRESET, "the server has closed the connection")
        data += more
    return data


def replies(s):
    """Messages up to the one that says the server is ready."""
    kind = b""
    while kind != b"Z":
        kind, size = struct.unpack("!cI", receive(s, 5))
        body = receive(s, size - 4)
        if kind == b"E":  # whoever answers was reached, whatever the answer is
            raise OSError(errno.EPROTO, body.decode("utf-8", "replace"))
        yield kind, body


def greeting(database):
    names = string("user") + string(database["user"]) + string("database") + string(database["database"])
    return message(b"", struct.pack("!I", 3 << 16) + names + b"\0")


def read_canary(s, database, greet=True):
    """Reads the canary through a connected socket. Anything but the canary is an error."""
    if greet:
        s.sendall(greeting(database))
    for _ in replies(s):
        pass
    s.sendall(message(b"Q", string("SELECT canary FROM secret")))
    # A row's first column follows its number of columns and its own length.
    rows = [body[6:].decode() for kind, body in replies(s) if kind == b"D"]
    if rows != [database["canary"]]:
        raise OSError(errno.EPROTO, repr(rows))


def ask(family, address, database, protocol=0):
    """Connects, as a client does, and reads the canary."""
    with socket.socket(family, socket.SOCK_STREAM, protocol) as s:
        s.settimeout(60)
        s.connect(address)
        read_canary(s, database)
