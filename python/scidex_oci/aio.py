"""run for asyncio.

Engine and command have threads of their own, which wait for the end whatever happens to the event loop: a loop that is closed
meanwhile leaves no zombie, and no child watcher is needed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Callable, Mapping, Optional, Sequence

from .content import content, standard_input
from .engine_run import EngineRun
from .loops import command_ended, ended, soon
from .manifest import Manifest, check_names
from .result import Result
from .running import OPTIONS, by_engine, check_request, finish, start, with_script
from .tool import OnOutput, Tool

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .content import Content, Input
    from .tool import StrPath


async def run(script: Optional[StrPath] = None, /, *, code: Optional[str] = None, files: Optional[Mapping[str, Content]] = None, language: Optional[str] = None,
              check: bool = False, again: Optional[str] = None, overwrite: bool = False, flags: Sequence[str] = (), stdin: Optional[Input] = None,
              on_output: Optional[OnOutput] = None, tool: Optional[Tool] = None, **fields: Unpack[Manifest]) -> Result:  # pyright: ignore[reportGeneralTypeIssues]
    """As ``scidex_oci.run``. ``on_output`` is called in the event loop.

    A task that is canceled asks the analysis to end (SIGTERM), waits until its outputs are committed, and is canceled then.
    If it is canceled again meanwhile, the analysis is killed. The catalog has the result: give an ``id`` to find it by.
    """
    check_names(fields, "arun()", OPTIONS)
    tool = tool or Tool()
    with content(with_script(script, fields), code, files, language) as request, standard_input(stdin) as given:
        check_request(tool, request, again, flags, on_output)
        if given is None and by_engine(again, overwrite, flags, on_output):
            one = EngineRun(tool, request)
            if one.job is not None:
                await ended(one.job.answer.add_done_callback, one.stop)
            if one.served():
                return finish(one.result(), check)
        listener = _Listener(asyncio.get_running_loop(), on_output)
        call = start(tool, request, again=again, overwrite=overwrite, flags=flags, stdin=given, on_output=listener.hear)
        listener.stop = call.process.signal
        await command_ended(call)
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
            soon(self._loop, lambda: self._tell(text))

    def _tell(self, text: str) -> None:
        if self._on_output is None or self.error is not None:
            return
        try:
            self._on_output(text)
        except Exception as error:  # pylint: disable=broad-except # run raises it
            self.error = error
            self.stop()
