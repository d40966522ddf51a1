"""The engines of this interpreter: one for each key, started on first use and shared by threads and event loops."""

from __future__ import annotations

import atexit
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from . import engine
from .channel import MOST_LINE, Channel, Job, NotServing, Note
from .engine import Key, key_of
from .paths import absolute
from .transport import when_forked

if TYPE_CHECKING:
    from .tool import Tool

_MOST = 4  # engines at once; more than these end when they are idle
_MOST_TRIES = 4
_PAUSE = 10.0  # seconds in which one that could not be started is not started again


class _Engines:
    """Engines by key, the one that was used last at the end."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.channels: Dict[Key, Channel] = {}
        self.ending: List[Channel] = []
        self.failed: Dict[Key, float] = {}

    def of(self, key: Key) -> Channel:
        """The engine of a key: that of a socket, unless it is to be alone, or a child."""
        with self.lock:
            channel = self.channels.pop(key, None)
            if channel is None or channel.over:
                self._keep(channel)
                path = None if key.alone else engine.socket_of(key)
                if path is None and not key.alone:
                    return self.of(key._replace(alone=True))
                channel = engine.child(key) if path is None else engine.connected(path)
            self.channels[key] = channel
            self._end_idle()
            return channel

    def _keep(self, channel: Optional[Channel]) -> None:
        """Remembers those that have not ended yet."""
        self.ending = [one for one in self.ending if one.alive()]
        if channel is not None:
            self.ending.append(channel)

    def _end_idle(self) -> None:
        for key in list(self.channels)[:-_MOST]:
            if self.channels[key].idle():
                channel = self.channels.pop(key)
                channel.close()
                self._keep(channel)

    def end(self) -> None:
        """Ends all of them, and what they run; what is asked afterwards has others."""
        with self.lock:
            channels = [*self.channels.values(), *self.ending]
            self.channels, self.ending = {}, []
        for channel in channels:
            channel.hang_up()
        for channel in channels:
            _join(channel)


_engines = _Engines()
_at_exit: List[bool] = []


def _forked() -> None:
    global _engines  # pylint: disable=global-statement # those of the parent
    _engines = _Engines()


when_forked(_forked)


def close_engines() -> None:
    """Ends the engines of this interpreter and waits for them; runs that go on through them are stopped, with their grace.

    They end with the interpreter anyway. The next call starts another one.
    """
    _engines.end()


def _join(channel: Channel) -> None:
    """Waits for the end; Ctrl-C meanwhile asks for it again, the third time at once."""
    while True:
        try:
            channel.join()
            return
        except KeyboardInterrupt:
            channel.terminate()


def ask(tool: Tool, method: str, params: Mapping[str, Any], note: Optional[Note] = None) -> Optional[Job]:
    """Sends a request to the tool's engine; None where there can be none, and the call is to be a command."""
    key = key_of(tool)
    if key is None or time.monotonic() < _engines.failed.get(key._replace(alone=True), 0):
        return None
    job = Job(method, params, note)
    if len(job.line) > MOST_LINE:
        return None
    if not _at_exit:
        _at_exit.append(True)
        atexit.register(close_engines)
    send(key._replace(alone=bool(params.get("secrets"))), job)
    return job


def send(key: Key, job: Job) -> None:
    """Sends a request to the engine of a key."""
    channel = _engines.of(key)
    if channel.remote and job.method == "run":
        job.ask(absolute(job.params, key.directory))
    job.unsent = lambda job, why: _again(key._replace(alone=not channel.remote), job, why)
    channel.send(job)


def _again(key: Key, job: Job, why: Exception) -> None:
    """Gives a request that has reached no engine to another one."""
    job.tries += 1
    if job.canceled:
        job.end_canceled()
    elif job.tries == _MOST_TRIES or (isinstance(why, NotServing) and key.alone):
        _engines.failed[key] = time.monotonic() + _PAUSE
        job.answer.set_exception(NotServing(str(why)))
    else:
        send(key._replace(alone=True), job)
