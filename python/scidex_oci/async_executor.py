"""Executor for asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence

from . import engine_run
from .errors import CommandError
from .executor import Executor
from .loops import command_ended, ended
from .result import Result, Status
from .sweeps import Sweep
from .tool import LAST, Call, RunLogs, Tool

if TYPE_CHECKING:
    from .tool import StrPath


class AsyncExecutor:
    """An Executor whose methods are coroutines, for one event loop or several.

    A task that is canceled while an analysis starts asks it to end; if it has started before that, it goes on.
    """

    def __init__(self, tool: Optional[Tool] = None, *, lock: Optional[StrPath] = None, **defaults: Any) -> None:
        self._executor = Executor(tool, lock=lock, **defaults)
        self.tool, self.defaults = self._executor.tool, self._executor.defaults

    def __repr__(self) -> str:
        return f"<Async{repr(self._executor)[1:]}"

    def close(self) -> None:
        """Gives the lock up, once what is just about to start has started."""
        self._executor.close()

    async def __aenter__(self) -> AsyncExecutor:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def run_analysis(self, spec: Mapping[str, Any]) -> str:
        """Starts an analysis and returns its run id, as Executor.run_analysis."""
        call = self._executor.begin(spec)
        await command_ended(call)
        return self._executor.started(call)

    def sweep(self, script: Optional[StrPath] = None, /, *, parameters: Optional[Mapping[str, Iterable[Any]]] = None,
              name: Optional[str] = None, jobs: Optional[int] = None, resume: bool = False, rerun: Optional[str] = None,
              fail_fast: bool = False, max_failures: Optional[int] = None, retries: int = 0, flags: Sequence[str] = (), **given: Any) -> Sweep:
        """Starts a sweep, as Executor.sweep, and returns at once: ``async with`` and ``async for`` take its results, ``atable`` all of them."""
        return self._executor.sweep(script, parameters=parameters, name=name, jobs=jobs, resume=resume, rerun=rerun,
                                    fail_fast=fail_fast, max_failures=max_failures, retries=retries, flags=flags, **given)

    async def check_status(self, run_id: str) -> Status:
        """The state of a run, as Executor.check_status."""
        return (await self.result(run_id)).state

    async def kill(self, run_id: str, now: bool = False) -> Status:
        """Ends a run and returns its state, as Executor.kill."""
        result = await self.result(run_id)
        if result.state.final:
            return result.state
        try:
            await self._call("stop", *(["--now"] if now else []), "--", result.run_id)
        except CommandError:
            # It has ended meanwhile, or its scidex-oci was killed and that is not recorded yet.
            if not (await self.check_status(result.run_id)).final:
                await self.recover()
            if not (await self.check_status(result.run_id)).final:
                raise
        return await self.check_status(result.run_id)

    async def get_logs(self, run_id: str) -> RunLogs:
        """What the run has written so far, as Executor.get_logs."""
        run_id = (await self.result(run_id)).run_id
        asked = engine_run.AskedLogs(self.tool, run_id)
        if asked.job is not None:
            await ended(asked.job.answer.add_done_callback, asked.job.cancel)
            if asked.come():
                return RunLogs(*asked.logs())
        call = self.tool.start("logs", "--", run_id, keep=None)
        await command_ended(call)
        return self.tool.logs_of(call)

    async def result(self, run_id: str) -> Result:
        """The result of a run, as far as it has come. Raises NotFound."""
        return await self._show(run_id, False)

    async def wait(self, run_id: str, timeout: Optional[float] = None) -> Result:
        """The result of a run, once it has ended, as Executor.wait."""
        if run_id == LAST:
            run_id = (await self.result(run_id)).run_id  # another run may be the newest one by then
        try:
            return await asyncio.wait_for(self._show(run_id, True), timeout)
        except asyncio.TimeoutError:
            result = await self.result(run_id)  # it may have ended long ago
            if result.state.final:
                return result
            raise TimeoutError(f"{run_id} has not ended in time, and goes on") from None

    async def recover(self) -> None:
        """Records the end of runs whose scidex-oci was killed, as Executor.recover."""
        await self._call("gc")

    async def _show(self, run_id: str, wait: bool) -> Result:
        job = engine_run.ask_show(self.tool, run_id, wait)
        if job is not None:
            await ended(job.answer.add_done_callback, job.cancel)
        result = engine_run.shown(self.tool, run_id, job)
        if result is None:
            result = (await self._call("show", "--json", *(["--wait"] if wait else []), "--", run_id)).result()
        return self.tool.named(result, run_id)

    async def _call(self, *words: str) -> Call:
        call = self.tool.start(*words)
        await command_ended(call)
        call.check()
        return call
