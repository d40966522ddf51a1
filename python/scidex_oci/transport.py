"""What an engine is asked through: the pipes of a child, or a socket."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import threading
from typing import Callable, List, Mapping, Optional, Sequence, Set

from .process import not_installed


class Transport:
    """Descriptors of a connection with an engine. It is closed once, by the thread that reads."""

    def __init__(self, reads: int, writes: int, says: Optional[int] = None,
                 child: Optional[subprocess.Popen[bytes]] = None, connection: Optional[socket.socket] = None) -> None:
        self.reads, self.says, self.child = reads, says, child
        self._writes: Optional[int] = writes
        self._connection = connection
        self._lock = threading.Lock()

    def write(self, line: bytes) -> None:
        """Writes all of it, or raises OSError."""
        rest = memoryview(line)
        while rest:
            fd = self._writes
            if fd is None:
                raise BrokenPipeError
            rest = rest[os.write(fd, rest) :]

    def last_words(self) -> bytes:
        """What has been said on standard error and not been read yet."""
        words = b""
        poll = select.poll()  # select.select takes no descriptor above 1023
        if self.says is not None:
            poll.register(self.says, select.POLLIN)
        while self.says is not None and poll.poll(0):
            chunk = os.read(self.says, 1 << 16)
            if not chunk:
                break
            words += chunk
        return words

    def hang_up(self) -> None:
        """Writes end-of-file."""
        if self._connection is not None:
            try:
                self._connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has hung up
            return
        with self._lock:
            if self._writes is not None:
                os.close(self._writes)
                self._writes = None

    def terminate(self) -> None:
        """Sends SIGTERM to a child that has not been waited for."""
        if self.child is not None:
            self.child.terminate()

    def close(self) -> None:
        """Closes all, and waits for the child."""
        self.hang_up()
        if self.child is not None:
            self.child.wait()
        with _lock:
            _open.discard(self)
            self._close_descriptors()

    def abandon(self) -> None:
        """Closes all in a forked child, where the engine is not its own."""
        if self.child is not None:
            self.child.returncode = 0  # it is not this process' child
            if self._writes is not None:
                os.close(self._writes)
                self._writes = None
        self._close_descriptors()

    def _close_descriptors(self) -> None:
        if self._connection is not None:
            self._connection.close()
            return
        os.close(self.reads)
        if self.says is not None:
            os.close(self.says)


# Descriptors are opened and closed under the lock, so that a forked child knows all that it has of them.
_lock = threading.Lock()
_open: Set[Transport] = set()


def start(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> Transport:
    """Starts an engine as a child in a session of its own."""
    with _lock:
        ends: List[int] = []
        try:
            for _ in range(3):
                ends += os.pipe()
            child = subprocess.Popen(argv, stdin=ends[0], stdout=ends[3], stderr=ends[5], cwd=cwd, env=env, start_new_session=True)
        except OSError as error:
            _close(ends)
            raise not_installed(argv[0], error) from error
        _close([ends[0], ends[3], ends[5]])
        transport = Transport(ends[2], ends[1], ends[4], child)
        _open.add(transport)
        return transport


def connect(path: str) -> Transport:
    """Connects with the engine that listens at a socket."""
    with _lock:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(path)
        except OSError:
            connection.close()
            raise
        transport = Transport(connection.fileno(), connection.fileno(), connection=connection)
        _open.add(transport)
        return transport


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


def when_forked(call: Callable[[], None]) -> None:
    """Has ``call`` called in forked children, once what they have of engines is closed."""

    def forked() -> None:
        global _lock  # pylint: disable=global-statement # the one before is locked
        _lock = threading.Lock()
        for transport in _open:
            transport.abandon()
        _open.clear()
        call()

    os.register_at_fork(before=lambda: _lock.acquire(), after_in_parent=lambda: _lock.release(), after_in_child=forked)
