"""run for asyncio.

The command has its own thread, which waits for its end whatever happens to the event loop: a loop that is closed
meanwhile leaves no zombie, and no child watcher is needed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Callable, Optional, Sequence

from .manifest import Manifest, check_names
from .result import Result
from .running import OPTIONS, finish, start, with_script
from .tool import Call, OnOutput, Tool

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .tool import StrPath


async def run(script: Optional[StrPath] = None, /, *, check: bool = False, again: Optional[str] = None, overwrite: bool = False,
              flags: Sequence[str] = (), on_output: Optional[OnOutput] = None, tool: Optional[Tool] = None,
              **fields: Unpack[Manifest]) -> Result:
    """As ``scidex_oci.run``. ``on_output`` is called in the event loop.

    A task that is canceled asks the analysis to end (SIGTERM), waits until its outputs are committed, and is canceled then;
    canceled again meanwhile, the analysis is killed. The catalog has the result: give an ``id`` to find it by.
    """
    check_names(fields, "arun()", OPTIONS)
    tool, loop = tool or Tool(), asyncio.get_running_loop()
    listener = _Listener(loop, on_output)
    call = start(tool, with_script(script, fields), again=again, overwrite=overwrite, flags=flags, on_output=listener.hear)
    listener.stop = call.process.signal
    await _ended(call, loop)
    if listener.error is not None:
        raise listener.error
    return finish(tool.outcome(call), check)


class _Listener:
    """Passes output from the command's thread to a function in the loop; if that raises, the run is stopped."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_output: Optional[OnOutput]) -> None:
        self.error: Optional[Exception] = None
        self.stop: Callable[[], None] = lambda: None
        self._loop, self._on_output = loop, on_output

    def hear(self, text: str) -> None:
        if self._on_output is not None:
            _soon(self._loop, lambda: self._tell(text))

    def _tell(self, text: str) -> None:
        if self._on_output is None or self.error is not None:
            return
        try:
            self._on_output(text)
        except Exception as error:  # pylint: disable=broad-except # run raises it
            self.error = error
            self.stop()


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:  # the loop is closed
        pass


async def _ended(call: Call, loop: asyncio.AbstractEventLoop) -> None:
    """Waits for the end of the command; a cancellation meanwhile ends it first."""
    ended = asyncio.Event()
    call.process.when_done(lambda: _soon(loop, ended.set))
    canceled: Optional[asyncio.CancelledError] = None
    while True:
        try:
            await ended.wait()
            break
        except asyncio.CancelledError as error:
            canceled = canceled or error
            call.process.signal()
        except BaseException:  # the loop is gone, and no task can wait
            call.process.signal()
            raise
    if canceled is not None:
        raise canceled
