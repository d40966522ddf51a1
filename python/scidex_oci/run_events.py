"""The events of one run, as they come."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import threading
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Iterator, Mapping, Optional

from .content import content
from .engine_run import EngineRun
from .errors import Interrupted
from .loops import soon
from .manifest import Manifest, check_names
from .result import Result
from .running import check_request, start, with_script
from .tool import Call, Tool

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .content import Content
    from .tool import StrPath

Event = Dict[str, Any]


class Events:
    """An iterator over the events of one analysis, which it starts: objects of docs/schema/events.json, with ``type`` and ``data``.

        with Events("fit.py", memory="1GiB") as events:
            for event in events:
                print(event["type"])
        print(events.result)

    It takes the fields of ``run``. ``result`` is there when all events have been iterated over. ``async with`` and ``async for`` do
    the same in an event loop. Leaving the ``with`` early stops the run, with its grace, and waits for its end.
    """

    def __init__(self, script: Optional[StrPath] = None, /, *, code: Optional[str] = None,
                 files: Optional[Mapping[str, Content]] = None, language: Optional[str] = None,
                 tool: Optional[Tool] = None, **fields: Unpack[Manifest]) -> None:  # pyright: ignore[reportGeneralTypeIssues]
        check_names(fields, "Events()", ("code", "files", "language", "tool"))
        self.tool = tool or Tool()
        self.result: Optional[Result] = None
        self._came: queue.SimpleQueue[Optional[Event]] = queue.SimpleQueue()
        self._wake: Optional[Any] = None  # called when something has come
        self._exit = contextlib.ExitStack()
        request = self._exit.enter_context(content(with_script(script, fields), code, files, language))
        try:
            check_request(self.tool, request, None, (), None)
            self._source: _Source = _start(self, request)
        except BaseException:
            self._exit.close()
            raise

    def __repr__(self) -> str:
        return f"<Events of {self.result!r}>" if self.result is not None else "<Events of a run that goes on>"

    def put(self, event: Optional[Event]) -> None:
        """Passes an event on; None: there are no more."""
        self._came.put(event)
        wake = self._wake
        if wake is not None:
            wake()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        if self.result is not None:
            raise StopIteration
        try:
            event = self._came.get()
        except KeyboardInterrupt:
            self.close()
            assert self.result is not None
            raise Interrupted(self.result) from None
        if event is not None:
            return event
        self._end()
        raise StopIteration

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self.result is not None:
            raise StopAsyncIteration
        event = await self._next()
        if event is not None:
            return event
        self._end()
        raise StopAsyncIteration

    async def _next(self) -> Optional[Event]:
        loop, came = asyncio.get_running_loop(), asyncio.Event()
        self._wake = lambda: soon(loop, came.set)
        while True:
            try:
                return self._came.get_nowait()
            except queue.Empty:
                await came.wait()
                came.clear()

    def stop(self) -> None:
        """Ends the run with its grace; called again, at once. The events until its end still come."""
        self._source.stop()

    def close(self) -> None:
        """Ends the run and waits; what has not been iterated over is left out."""
        if self.result is None:
            self.stop()
        while self.result is None:
            if self._came.get() is None:
                self._end()

    async def aclose(self) -> None:
        """As close, in an event loop."""
        if self.result is None:
            self.stop()
        while self.result is None:
            if await self._next() is None:
                self._end()

    def _end(self) -> None:
        try:
            self.result = self._source.result()
        finally:
            self._exit.close()

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Events:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Source:
    """Where events come from: an engine, or a command where there is none."""

    def __init__(self, events: Events, request: Mapping[str, Any]) -> None:
        self._events, self._request = events, request
        self._call: Optional[Call] = None
        self._run = EngineRun(events.tool, request, events.put)

    def begin(self) -> None:
        """Has the end passed on."""
        if self._run.job is None:
            self._command()
        else:
            self._run.job.answer.add_done_callback(lambda _: self._answered())

    def _answered(self) -> None:
        if self._run.served():
            self._events.put(None)
        else:
            self._command()

    def _command(self) -> None:
        ends = os.pipe()
        call = self._call = start(self._events.tool, self._request, flags=[f"--events=fd:{ends[1]}"], pass_fds=[ends[1]])
        call.process.when_done(lambda: os.close(ends[1]))
        threading.Thread(target=self._read, args=[ends[0]], name="scidex-oci events").start()

    def _read(self, fd: int) -> None:
        with open(fd, "rb") as lines:
            for line in lines:
                self._events.put(json.loads(line))
        self._events.put(None)

    def stop(self) -> None:
        """Stops the run."""
        if self._call is not None:
            self._call.process.signal()
        else:
            self._run.stop()

    def result(self) -> Result:
        """The result, after the end."""
        return self._run.result() if self._call is None else self._events.tool.outcome(self._call)


def _start(events: Events, request: Mapping[str, Any]) -> _Source:
    source = _Source(events, request)
    source.begin()
    return source
