"""Batch: many analyses through one ``scidex-oci batch``."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import math
import os
import signal
import threading
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Deque, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from . import markup
from .errors import Interrupted
from .loops import command_ended, soon
from .manifest import check_names, encode
from .result import Result, Status
from .tables import Table, joined
from .tool import Tool

if TYPE_CHECKING:
    from .tables import Values
    from .tool import StrPath

_AHEAD = 1000  # results that wait to be taken; beyond, the tool waits
_SHOWN = 5  # results that did not end well, in a notebook


class Batch:
    """An iterator over the results of many analyses, in the order in which they end.

        with Batch(({"id": p.stem, "script": p} for p in scripts), jobs=4, resume=True) as batch:
            for result in batch:
                print(result.completion_notes)

    ``manifests`` is an iterable of manifest fields. Another thread reads it as results come, so it may be endless or depend on
    results. Or it is the path of a file of JSON lines, which is checked as a whole before the first start. ``flags`` are further
    flags of ``scidex-oci batch``, such as defaults for all lines. A line that scidex-oci refuses has a result too. A line that
    cannot be a request, such as one with an unknown field, raises TypeError or ValueError: in a list at once, otherwise when it is
    read, and that ends the batch.

    ``async with`` and ``async for`` do the same in an event loop.

    The batch ends early if the ``with`` is left, by an exception or otherwise, or by ``stop``: it starts nothing more, and what runs is
    ended with its grace and committed. ``resume`` runs the rest. ``rerun`` does that too, and also runs lines again as the next attempt,
    with the request and the script as they are now: those whose last attempt is not complete (``"failed"``), those whose request or
    script has changed since (``"changed"``), or all (``"all"``). Earlier attempts are kept.

    Ctrl-C while it waits for a result raises Interrupted, with all ``results`` that were not iterated over yet. After the last result
    it raises what the iterable raised, or CommandError if the batch itself could not be run to its end.
    """

    def __init__(self, manifests: Union[StrPath, Iterable[Mapping[str, Any]]], *, jobs: Optional[int] = None,
                 resume: bool = False, rerun: Optional[str] = None, fail_fast: bool = False, max_failures: Optional[int] = None,
                 retries: int = 0, flags: Sequence[str] = (), tool: Optional[Tool] = None) -> None:
        self._changed = threading.Condition()
        self._wakes: List[Callable[[], None]] = []  # of event loops that wait for a change
        self._results: Deque[Result] = collections.deque()
        self._ahead: float = _AHEAD
        self._rest = b""  # of a line that has not come whole
        self._discard = self._stopped = self._troubled = False
        self._counts: Dict[Status, int] = {}
        self._bad: List[Result] = []  # the first
        self.tool = tool or Tool()
        words: List[str] = ["batch", "--json", "--quiet"]
        words += [f"--jobs={jobs}"] if jobs is not None else []
        words += [f"--max-failures={max_failures}"] if max_failures is not None else []
        words += [f"--rerun={rerun}"] if rerun is not None else []
        words += [f"--retries={retries}"] if retries else []
        words += [f"--{name}" for name, on in (("resume", resume), ("fail-fast", fail_fast)) if on]
        words += flags
        if isinstance(manifests, (str, os.PathLike)):
            self._call = self.tool.start(*words, "--", os.fspath(manifests), stdout=self._take)
        else:
            lines = _encoded(manifests)
            if isinstance(manifests, (list, tuple)):
                lines = iter(list(lines))  # a mistake is found before anything starts
            self._call = self.tool.start(*words, "--", "-", stdin=lines, stdout=self._take)
        self._call.process.ends_with_main = True
        self._call.process.when_done(self._wake)

    def __repr__(self) -> str:
        return f"<Batch that {'has ended' if self._call.process.wait(0) else 'goes on'}, {len(self._results)} results to take>"

    def _repr_html_(self) -> str:
        with self._changed:
            counts, bad, waiting = dict(self._counts), list(self._bad), len(self._results)
        ended = ", ".join(f"{number} {state}" for state, number in counts.items()) or "no result yet"
        goes_on = "has ended" if self._call.process.wait(0) else "goes on"
        parts = [markup.paragraph(markup.strong(f"Batch that {goes_on}:"), markup.strong(ended), f"({waiting} to take)")]
        if bad:
            rows = [[r.run_id if r.attempt else r.id, str(r.state), r.reason, r.message, r.usage.wall_ms / 1000, r.outputs_total] for r in bad]
            parts.append(markup.grid(["id", "state", "reason", "message", "seconds", "outputs"], rows, len(rows)))
        return markup.block(parts)

    def table(self, path: Optional[StrPath] = None) -> Table:
        """Waits for the results that were not taken, and returns a table with a row for each: see ``scidex_oci.table``.

        The rows come in the order of the lines. Ctrl-C raises Interrupted with all these results.
        """
        taken: List[Result] = []
        try:
            taken += self
        except Interrupted as interrupted:
            raise Interrupted(interrupted.result, [*taken, *interrupted.results]) from None
        except KeyboardInterrupt:
            if not taken:
                raise
            raise Interrupted(taken[-1], taken) from None
        return self._joined(taken, path)

    async def atable(self, path: Optional[StrPath] = None) -> Table:
        """As table, in an event loop."""
        taken = [result async for result in self]
        return await asyncio.to_thread(self._joined, taken, path)

    def _joined(self, results: Iterable[Result], path: Optional[StrPath]) -> Table:
        return joined(sorted(results, key=lambda result: result.line), path, self._values())

    def _values(self) -> Values:
        """What was given for the values of labels; a sweep has some."""
        return {}

    def __iter__(self) -> Iterator[Result]:
        return self

    def __next__(self) -> Result:
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._results or self._call.process.wait(0))
                if self._results:
                    self._changed.notify_all()  # there is room for one more
                    return self._results.popleft()
        except KeyboardInterrupt:
            results = self._interrupted()
            if not results:  # nothing had started
                raise
            raise Interrupted(results[-1], results) from None
        except BaseException:
            self.close()
            raise
        self._check()
        raise StopIteration

    def _interrupted(self) -> List[Result]:
        """The results that were not taken, once what runs has ended."""
        with self._changed:
            self._ahead = math.inf
            self._changed.notify_all()
        self.stop()
        with contextlib.suppress(KeyboardInterrupt):  # it was passed on
            self._call.wait()
        results = list(self._results)
        self._results.clear()
        return results

    def __aiter__(self) -> AsyncIterator[Result]:
        return self

    async def __anext__(self) -> Result:
        loop, came = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            soon(loop, came.set)

        while True:
            with self._changed:
                if self._results:
                    self._changed.notify_all()
                    return self._results.popleft()
                if self._call.process.wait(0):
                    break
                self._wakes.append(wake)
            await came.wait()
            came.clear()
        self._check()
        raise StopAsyncIteration

    def stop(self) -> None:
        """Starts no more analyses and ends those that run, with their grace; their results are still iterated over.

        Called again, it ends the grace period at once.
        """
        self._stopped = True
        self._call.process.signal(signal.SIGTERM)

    def close(self) -> None:
        """Ends the batch and waits; results that were not taken are in the catalog."""
        self._end()
        self._call.wait()

    async def aclose(self) -> None:
        """As close, in an event loop."""
        self._end()
        await command_ended(self._call)

    def _end(self) -> None:
        with self._changed:
            self._discard = True
            self._results.clear()
            self._changed.notify_all()
        if not self._call.process.wait(0):
            self.stop()

    async def __aenter__(self) -> Batch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, chunk: bytes) -> None:
        """Called in the thread of the command. While no results are taken it waits, and the tool with it."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            result = Result.from_json(json.loads(line), self.tool)
            with self._changed:
                self._note(result)
                while not self._changed.wait_for(lambda: self._discard or len(self._results) < self._ahead, timeout=1):
                    self._discard = not threading.main_thread().is_alive()  # no thread is left that could take them
                if not self._discard:
                    self._results.append(result)
                    self._wake()

    def _note(self, result: Result) -> None:
        self._troubled |= result.state in (Status.ERROR, Status.LOST)
        self._counts[result.state] = self._counts.get(result.state, 0) + 1
        if not result.ok and len(self._bad) < _SHOWN:
            self._bad.append(result)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
            wakes, self._wakes = self._wakes, []
        for wake in wakes:
            wake()

    def _check(self) -> None:
        """125 is also the exit code of a batch that was run, and in which something was an error."""
        process = self._call.process
        explained = self._stopped or process.returncode == 1 or (process.returncode == 125 and self._troubled)
        if process.error is not None or not explained:
            self._call.check()


def _encoded(manifests: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    for number, fields in enumerate(manifests, 1):
        check_names(fields, f"line {number} of Batch")
        yield encode(fields)
