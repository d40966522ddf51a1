"""One scidex-oci command and a thread that starts it, reads its output and waits for its end.

The thread is what makes a command safe: only the main thread of Python handles signals, so no KeyboardInterrupt can come
between a start and its end, and no process is left as a zombie, whether a caller waits or not.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import selectors
import signal
import subprocess
import tempfile
import threading
from typing import IO, Callable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import NotInstalled

Sink = Callable[[bytes], None]
Stdin = Union[bytes, int, Iterator[bytes]]  # int: a descriptor

_CHUNK = 1 << 16
_F_SETSIG = 10  # PyPy has no name for it


class Process:
    """A command in a session of its own, so that what a terminal sends to Python is ours to pass on, once."""

    def __init__(self, argv: Sequence[str], *, stdin: Stdin = b"", cwd: Optional[str] = None,
                 env: Optional[Mapping[str, str]] = None, pass_fds: Sequence[int] = (), outlives: bool = False) -> None:
        self.argv: List[str] = list(argv)
        self.returncode: Optional[int] = None
        self.error: Optional[BaseException] = None  # of the start, or of a sink
        self.ends_with_main = False  # whether it is ended once Python's main thread is over
        self._stdin, self._cwd, self._env, self._pass_fds = stdin, cwd, env, pass_fds
        self._outlives = outlives  # whether it goes on if Python is killed
        self._sinks: Tuple[Sink, Sink] = (_ignore, _ignore)
        self._lock = threading.Lock()
        self._early: List[int] = []  # signals from before the start
        self._child: Optional[subprocess.Popen[bytes]] = None
        self._broken: Optional[Sink] = None
        self._over = False
        self._done = threading.Event()
        self._when_done: List[Callable[[], None]] = []

    def begin(self, stdout: Sink, stderr: Sink) -> None:
        """Starts it; the sinks are called in its thread."""
        self._sinks = (stdout, stderr)
        threading.Thread(target=self._run, name="scidex-oci").start()

    def signal(self, number: int = signal.SIGTERM) -> None:
        """Sends a signal, unless the command has ended; one that comes before its start waits for it."""
        with self._lock:
            if self._over:
                return
            if self._child is None:
                self._early.append(number)
            else:
                os.kill(self._child.pid, number)  # it is not reaped before _over is set

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits until the command has ended and all that it said has been passed on."""
        return self._done.wait(timeout)

    def when_done(self, call: Callable[[], None]) -> None:
        """Has ``call`` called after the end, in the thread of the command, or at once."""
        with self._lock:
            if not self._done.is_set():
                self._when_done.append(call)
                return
        call()

    def _run(self) -> None:
        try:
            self._start_and_read()
        except BaseException as error:  # pylint: disable=broad-except # wait's caller raises it
            self.error = self.error or error
        finally:
            with self._lock:
                self._over = True
                self._done.set()
            for call in self._when_done:
                call()

    def _start_and_read(self) -> None:
        if isinstance(self._stdin, bytes):
            with tempfile.TemporaryFile() as file:  # no pipe, and no thread that has to feed it
                file.write(self._stdin)
                file.seek(0)
                child = self._start(file)
        elif isinstance(self._stdin, int):
            child = self._start(self._stdin)
        else:
            child = self._start(subprocess.PIPE)
            assert child.stdin is not None
            threading.Thread(target=self._feed, args=(self._stdin, child.stdin), name="scidex-oci stdin", daemon=True).start()
        try:
            self._read(child)
        finally:
            self._reap(child)

    def _start(self, stdin: Union[int, IO[bytes]]) -> subprocess.Popen[bytes]:
        end, self._life = os.pipe()
        try:
            child = subprocess.Popen(self.argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self._cwd, env=self._env,
                                     pass_fds=self._pass_fds if self._outlives else [*self._pass_fds, end], start_new_session=True)
        except BaseException as error:
            os.close(self._life)
            os.close(end)
            if isinstance(error, OSError):
                raise not_installed(self.argv[0], error) from error
            raise
        if not self._outlives:
            _terminate_at_end(child.pid, end)
        os.close(end)
        with self._lock:
            self._child = child
            for number in self._early:
                os.kill(child.pid, number)
        return child

    def _feed(self, chunks: Iterator[bytes], stdin: IO[bytes]) -> None:
        """Writes what an iterator yields, until it ends or the command does; an exception ends the command."""
        try:
            for chunk in chunks:
                stdin.write(chunk)
                stdin.flush()
        except BrokenPipeError:
            pass
        except BaseException as error:  # pylint: disable=broad-except # wait's caller raises it
            self.error = error
            self.signal()
        finally:
            with contextlib.suppress(BrokenPipeError):
                stdin.close()

    def _read(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout is not None and child.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ, self._sinks[0])
            selector.register(child.stderr, selectors.EVENT_READ, self._sinks[1])
            while selector.get_map():
                for key, _ in selector.select(1 if self.ends_with_main else None):
                    chunk = os.read(key.fd, _CHUNK)
                    if chunk:
                        self._pass_on(key.data, chunk)
                    else:
                        selector.unregister(key.fileobj)
                if self.ends_with_main and not threading.main_thread().is_alive():
                    self.ends_with_main = False
                    self.signal()

    def _pass_on(self, sink: Sink, chunk: bytes) -> None:
        """A sink that fails ends the command and is not called again; the error is kept for the caller that waits."""
        if sink is self._broken:
            return
        try:
            sink(chunk)
        except BaseException as error:  # pylint: disable=broad-except # wait's caller raises it
            self.error, self._broken = error, sink
            self.signal()

    def _reap(self, child: subprocess.Popen[bytes]) -> None:
        """Takes the end of the command; it has closed its streams, or we do."""
        assert child.stdout is not None and child.stderr is not None
        child.stdout.close()
        child.stderr.close()
        with self._lock:
            self.returncode = child.wait()
            self._over = True
        os.close(self._life)


def _terminate_at_end(pid: int, end: int) -> None:
    """Has the kernel send SIGTERM to a command when Python is killed: when nothing is left that can write into a pipe whose
    reading end the command has inherited (fcntl(2), F_SETSIG). No handler of a signal is needed for it."""
    with contextlib.suppress(OSError):  # a kernel that is none of Linux'
        fcntl.fcntl(end, fcntl.F_SETOWN, pid)
        fcntl.fcntl(end, _F_SETSIG, signal.SIGTERM)
        fcntl.fcntl(end, fcntl.F_SETFL, os.O_ASYNC)


def _ignore(_: bytes) -> None:
    pass


_NO_PROGRAM = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENOEXEC)


def not_installed(program: str, error: OSError) -> Exception:
    """What a failed start means: the program is missing, or something else is."""
    if error.errno in _NO_PROGRAM and error.filename == program:
        return NotInstalled(f"{program} cannot be started ({error.strerror}): install scidex-oci, put its directory "
                            "into PATH, or name it by SCIDEX_OCI_BIN or Tool(binary=...)")
    return error
