"""A connection with an engine: JSON-RPC, one object a line, in two threads.

One thread reads and one writes, so that no caller is interrupted in the middle of a line, and no event loop waits for a pipe.
"""

from __future__ import annotations

import collections
import itertools
import json
import os
import queue
import select
import threading
from concurrent.futures import Future
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Tuple, Union

from .transport import Transport

Note = Callable[[Dict[str, Any]], object]
Answer = Dict[str, Any]
Lost = Callable[["Job", Transport, str], Exception]

MOST_LINE = (1 << 20) - 1  # bytes
MOST_AHEAD = 2000  # runs that have been asked for; an engine refuses more than 4096
_CHUNK = 1 << 16
_SAID = 1 << 13  # bytes kept of what the engine says on standard error
_HELLO = 0  # id of the first request, which asks for nothing
_DRAINING, CANCELED = -32003, -32800
_ids = itertools.count(1)


class Unsent(Exception):
    """A request did not reach its engine, which has ended or takes nothing more."""


class NotServing(Exception):
    """An engine ended before it served, or could not be started."""


class Job:
    """A request and, in time, its answer. ``note`` gets the notifications that belong to it, in the thread that reads."""

    def __init__(self, method: str, params: Mapping[str, Any], note: Optional[Note] = None) -> None:
        self.number = next(_ids)
        self.method, self.note = method, note
        self.ask(params)
        self.answer: Future[Answer] = Future()
        self.tries = 0
        self.canceled = False
        self.channel: Optional[Channel] = None
        self.unsent: Callable[[Job, Exception], None] = lambda job, why: job.answer.set_exception(why)

    def ask(self, params: Mapping[str, Any]) -> None:
        """Sets the parameters, and with them the line."""
        self.params = params
        self.line = _line(self.number, self.method, params)

    def cancel(self) -> None:
        """Asks the engine to end it. The answer says how it ended."""
        self.canceled = True
        channel = self.channel
        if channel is not None:
            channel.put((self,))

    def end_canceled(self) -> None:
        """Answers a request that was canceled before it was sent."""
        self.answer.set_result({"error": {"code": CANCELED, "message": "canceled before it started"}})


_Item = Union[Job, Tuple[Job], str]  # a request; one to cancel; _CLOSE, _HANG_UP or _ANSWERED
_CLOSE, _HANG_UP, _ANSWERED = "close", "hang up", "answered"


class Channel:
    """An engine that is asked: the transport is opened in the thread that reads, where no signal comes between."""

    def __init__(self, open_transport: Callable[[], Transport], lost: Lost, remote: bool = False) -> None:
        self.remote = remote  # whether it has another directory and environment
        self.over = False  # nothing more is taken
        self._transport: Optional[Transport] = None
        self._open, self._lost = open_transport, lost
        self._lock = threading.Lock()
        self._inbox: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._waiting: Dict[int, Job] = {}
        self._runs: Dict[str, Job] = {}  # by the id of the run, for its events
        self._called_for = False  # whether the thread that writes waits for answers
        self._rest: List[bytes] = []
        self._said = b""
        self._writer: Optional[threading.Thread] = None
        self._reader = threading.Thread(target=self._run, name="scidex-oci engine", daemon=True)
        self._reader.start()

    def send(self, job: Job) -> None:
        """Hands a request over. It has an answer in any case."""
        job.channel = self
        with self._lock:
            if not self.over:
                self._inbox.put(job)
                return
        job.unsent(job, Unsent())

    def put(self, item: _Item) -> None:
        """Tells the thread that writes."""
        self._inbox.put(item)

    def idle(self) -> bool:
        """Whether no request is in progress."""
        return not self._waiting and self._inbox.empty()

    def close(self) -> None:
        """Takes no more requests, and hangs up after the last answer."""
        self.over = True
        self.put(_CLOSE)

    def hang_up(self) -> None:
        """Ends the engine's runs of this interpreter, by end-of-file."""
        self.over = True
        self.put(_HANG_UP)

    def alive(self) -> bool:
        """Whether the engine has not ended yet."""
        return self._reader.is_alive()

    def terminate(self) -> None:
        """Asks an engine that is a child to end by a signal."""
        if self._transport is not None:
            self._transport.terminate()

    def join(self) -> None:
        """Waits until the engine has ended."""
        self._reader.join()

    def _run(self) -> None:
        try:
            transport = self._transport = self._open()
        except Exception as error:  # pylint: disable=broad-except # the command that is called instead raises it too
            self._said = str(error).encode()
            self._end(lambda _: NotServing(self._words()))
            return
        try:
            transport.write(_line(_HELLO, "cancel", {"id": _HELLO}))
            self._read(transport)
        except OSError:
            pass  # it has gone
        transport.close()
        if self._writer is None:
            self._end(lambda _: NotServing(self._words()))
            return
        self._end(lambda job: self._lost(job, transport, self._words()))
        self._writer.join()

    def _words(self) -> str:
        return self._said.decode(errors="replace").strip()

    def _read(self, transport: Transport) -> None:
        """Reads until the engine has closed its end."""
        poll = select.poll()
        poll.register(transport.reads, select.POLLIN)
        if transport.says is not None:
            poll.register(transport.says, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                chunk = os.read(fd, _CHUNK)
                if fd == transport.says:
                    self._said = (self._said + chunk)[-_SAID:]
                    if not chunk:
                        poll.unregister(fd)
                elif chunk:
                    self._take(chunk, transport)
                else:
                    self._said = (self._said + transport.last_words())[-_SAID:]
                    return

    def _take(self, chunk: bytes, transport: Transport) -> None:
        if b"\n" not in chunk:
            self._rest.append(chunk)
            return
        *lines, rest = b"".join([*self._rest, chunk]).split(b"\n")
        self._rest = [rest]
        for line in lines:
            self._hear(json.loads(line), transport)

    def _hear(self, message: Dict[str, Any], transport: Transport) -> None:
        if "method" in message:
            self._notify(message["method"], message["params"])
        elif message.get("id") is None or self._writer is None:
            if message.get("id") != _HELLO:  # it refuses this caller
                self._said = message.get("error", {}).get("message", "").encode()
                transport.hang_up()
                return
            self._writer = threading.Thread(target=self._write, args=[transport], name="scidex-oci requests", daemon=True)
            self._writer.start()
        else:
            self._answered(message)

    def _notify(self, method: str, params: Dict[str, Any]) -> None:
        job = self._runs.get(params["id"]) if method == "event" else self._waiting.get(params["request"])
        if job is not None and job.note is not None:
            job.note(params)

    def _answered(self, message: Dict[str, Any]) -> None:
        with self._lock:
            job = self._waiting.pop(message["id"], None)
            if self._called_for:
                self._inbox.put(_ANSWERED)
        if job is None:
            return
        self._runs.pop(job.params.get("id", ""), None)
        if message.get("error", {}).get("code") == _DRAINING:
            self.close()
            job.unsent(job, Unsent())
        else:
            job.answer.set_result(message)

    def _end(self, why: Callable[[Job], Exception]) -> None:
        """Gives what waits an end: lost is what was sent."""
        with self._lock:
            self.over = True
            waiting, self._waiting = self._waiting, {}
        self.put(_HANG_UP)
        if self._writer is None:
            for item in _rest_of(self._inbox):
                item.unsent(item, why(item))
        for job in waiting.values():
            job.answer.set_exception(why(job))

    def _write(self, transport: Transport) -> None:
        backlog: Deque[Job] = collections.deque()
        closing = False
        while not (closing and self._nothing_left(backlog)):
            item = self._inbox.get()
            if item == _HANG_UP:
                break
            if isinstance(item, tuple):
                self._cancel(item[0], backlog, transport)
            elif isinstance(item, Job) and item.method == "run":
                backlog.append(item)
            elif isinstance(item, Job):
                self._transmit(item, transport)  # it is short, and may be about one of those that wait
            closing = closing or item == _CLOSE
            while backlog and self._has_room(closing):
                self._transmit(backlog.popleft(), transport)
        with self._lock:
            self.over = True
        transport.hang_up()
        for job in [*backlog, *_rest_of(self._inbox)]:
            job.unsent(job, Unsent())

    def _nothing_left(self, backlog: Deque[Job]) -> bool:
        with self._lock:
            return not backlog and not self._waiting

    def _has_room(self, closing: bool) -> bool:
        with self._lock:
            full = len(self._waiting) >= MOST_AHEAD
            self._called_for = full or closing
            return not full

    def _cancel(self, job: Job, backlog: Deque[Job], transport: Transport) -> None:
        if job in backlog:
            backlog.remove(job)
            job.end_canceled()
        elif job.number in self._waiting:
            self._put_line(_line(next(_ids), "cancel", {"id": job.number}), transport)

    def _transmit(self, job: Job, transport: Transport) -> None:
        if job.canceled:
            job.end_canceled()
            return
        with self._lock:
            self._waiting[job.number] = job
        if job.note is not None and job.method == "run":
            self._runs[job.params["id"]] = job
        if not self._put_line(job.line, transport):
            with self._lock:
                missed = self._waiting.pop(job.number, None)
            if missed is not None:
                job.unsent(job, Unsent())

    def _put_line(self, line: bytes, transport: Transport) -> bool:
        """Whether the whole line was written; the engine runs nothing of half a line."""
        try:
            transport.write(line)
        except OSError:
            return False
        return True


def _line(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def _rest_of(inbox: queue.SimpleQueue[_Item]) -> List[Job]:
    """The requests that wait in an inbox that is read no more."""
    jobs: List[Job] = []
    while True:
        try:
            item = inbox.get_nowait()
        except queue.Empty:
            return jobs
        if isinstance(item, Job):
            jobs.append(item)
