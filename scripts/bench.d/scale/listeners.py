"""Sessions that LISTEN, in the frontend protocol of PostgreSQL (documentation, "Message Formats"): what they cost."""

import select
import socket
import statistics
import struct
import threading
import time

from server import pss

CHANNEL = "scidex_oci.river_insert"


class Session:
    """A connection that needs no password."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.waiting = b""
        words = b"user\0scidex\0database\0scidex\0\0"
        self.socket.sendall(struct.pack("!II", 8 + len(words), 3 << 16) + words)
        self.ready()

    def query(self, sql):
        text = sql.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!I", 4 + len(text)) + text)
        self.ready()

    def ready(self):
        """Read until the server waits for a query."""
        while True:
            kind, body = self.message()
            if kind == b"E":
                raise SystemExit(f"bench-scale: PostgreSQL said {body!r}")
            if kind == b"Z":
                return

    def told(self):
        """Read until a notification."""
        while self.message()[0] != b"A":
            pass

    def message(self):
        """The next message: its kind, a byte, and its body."""
        while True:
            found = split(self.waiting)
            if found:
                kind, body, self.waiting = found
                return kind, body
            more = self.socket.recv(65536)
            if not more:
                raise SystemExit("bench-scale: PostgreSQL hung up")
            self.waiting += more

    def close(self):
        self.socket.close()


def split(stream):
    """The first message of a stream and the rest, or None where it is not there as a whole."""
    if len(stream) < 5:
        return None
    end = 1 + struct.unpack("!I", stream[1:5])[0]
    return (stream[:1], stream[5:end], stream[end:]) if len(stream) >= end else None


def measure(server, sizes, rounds=50):
    """Memory and times of a NOTIFY against how many listen."""
    figures, sessions, sender = [], [], Session(server.socket)
    for size in sizes:
        before = pss(server.backends())
        new = [listening(server) for _ in range(size - len(sessions))]
        sessions += new
        after = pss(server.backends())
        cpu = server.cpu()
        replies, all_told = zip(*(notify(sender, sessions) for _ in range(rounds)))
        figures.append({
            "listening": size,
            "pss_each": (after - before) // len(new) if new else None,
            "commit_ms": 1000 * statistics.median(replies),
            "all_told_ms": 1000 * statistics.median(all_told),
            "server_cpu_ms": 1000 * (server.cpu() - cpu) / rounds,
            "notifying_transactions_per_second": rate(server, sessions),
        })
    for session in (*sessions, sender):
        session.close()
    return figures


def listening(server):
    session = Session(server.socket)
    session.query(f'LISTEN "{CHANNEL}"')
    return session


def notify(sender, sessions):
    """Seconds to the reply of a NOTIFY, and until every session has it."""
    begin = time.monotonic()
    sender.query(f"SELECT pg_notify('{CHANNEL}', '{{\"queue\":\"analyses\"}}')")
    replied = time.monotonic() - begin
    poll = select.poll()
    left = {session.socket.fileno(): session for session in sessions}
    for descriptor in left:
        poll.register(descriptor, select.POLLIN)
    while left:
        for descriptor, _ in poll.poll():
            left.pop(descriptor).told()
            poll.unregister(descriptor)
    return replied, time.monotonic() - begin


def rate(server, sessions, senders=8, each=50):
    """Transactions a second that notify, by several at once, while somebody reads what the listeners are told."""
    working = [Session(server.socket) for _ in range(senders)]
    reading = threading.Thread(target=lambda: [session.told() for session in sessions for _ in range(senders * each)])
    reading.start()
    begin = time.monotonic()
    # No two payloads are the same, or one transaction would tell them as one.
    threads = [threading.Thread(target=lambda s=s, i=i: [s.query(f"SELECT pg_notify('{CHANNEL}', '{i}-{n}')") for n in range(each)])
               for i, s in enumerate(working)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - begin
    reading.join()
    for session in working:
        session.close()
    return senders * each / took
