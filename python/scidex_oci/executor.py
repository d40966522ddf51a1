"""SciDEX' Executor: runs that go on without their caller."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, Optional, Sequence

from .errors import CommandError, error_of
from .manifest import check_names
from .result import Result, Status
from .running import start
from .sweeps import Sweep, sweep
from .tool import Call, RunLogs, Tool

if TYPE_CHECKING:
    from .tool import StrPath


class Executor:
    """Starts analyses and asks for them by their run id; several threads, and several processes, may use one catalog.

    Nothing about a run is kept in Python: after a restart, another Executor on the same catalog knows all of them. Runs go on
    when Python ends. ``defaults`` are manifest fields for every analysis, which its spec overrides.

    ``lock`` is a file for an orchestrator that may be killed and started again. One Executor at a time has it, and the next
    waits until what a killed one was just about to start has started or is refused: no run starts unnoticed.
    """

    def __init__(self, tool: Optional[Tool] = None, *, lock: Optional[StrPath] = None, **defaults: Any) -> None:
        check_names(defaults, "Executor()", ("tool", "lock"))
        self.tool = tool or Tool()
        self.defaults = defaults
        # Commands that start a run inherit the descriptor, and with it the lock; runs do not.
        self._lock: List[int] = [] if lock is None else [_locked(lock)]

    def __repr__(self) -> str:
        return f"<Executor {self.tool!r}{' with its lock' if self._lock else ''}>"

    def close(self) -> None:
        """Gives the lock up, once what is just about to start has started."""
        while self._lock:
            os.close(self._lock.pop())

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run_analysis(self, spec: Mapping[str, Any]) -> str:
        """Starts an analysis, ``spec`` being the fields of its manifest, and returns its run id once it has started.

        Give an ``id``: the catalog lets it run only once. So an orchestrator that was killed between the start and its own note of
        it can start it again, without a second run: it gets a RequestError, and ``check_status(id)`` has the state of the first.

        The run id is ``ID@ATTEMPT``. An analysis that could not start because there is no such command has one too. What scidex-oci
        refuses or fails at is raised: RequestError, AnalysisError.
        """
        call = self.begin(spec)
        call.wait()
        return self.started(call)

    def sweep(self, script: Optional[StrPath] = None, /, *, parameters: Optional[Mapping[str, Iterable[Any]]] = None,
              name: Optional[str] = None, jobs: Optional[int] = None, resume: bool = False, rerun: Optional[str] = None,
              fail_fast: bool = False, max_failures: Optional[int] = None, retries: int = 0, flags: Sequence[str] = (), **given: Any) -> Sweep:
        """Runs a script with all combinations of the values of its parameters, as ``scidex_oci.sweep``, with the defaults of this Executor.

        Its runs do not go on without Python, but the same sweep with the same ``name`` and ``resume=True`` does the rest.
        """
        return sweep(script, parameters=parameters, name=name, jobs=jobs, resume=resume, rerun=rerun, fail_fast=fail_fast,
                     max_failures=max_failures, retries=retries, flags=flags, tool=self.tool, **{**self.defaults, **given})

    def begin(self, spec: Mapping[str, Any]) -> Call:
        """The command that starts an analysis."""
        check_names(spec, "run_analysis()")
        return start(self.tool, {**self.defaults, **spec}, flags=["--detach"], pass_fds=self._lock)

    def started(self, call: Call) -> str:
        """The run id, once the command has ended."""
        result = self.tool.outcome(call)
        error = None if result.attempt and result.state is not Status.ERROR else error_of(result)
        if error is not None:
            raise error
        return result.run_id

    def check_status(self, run_id: str) -> Status:
        """The state of a run; ``.final`` says whether it has ended, ``.tes`` is its name in GA4GH TES."""
        return self.result(run_id).state

    def kill(self, run_id: str, now: bool = False) -> Status:
        """Ends a run and returns its state, once its outputs are committed; one that has ended already is left as it is.

        The analysis has its grace period, unless ``now``.
        """
        result = self.result(run_id)
        if result.state.final:
            return result.state
        try:
            self.tool.call("stop", *(["--now"] if now else []), "--", result.run_id)
        except CommandError:
            # It has ended meanwhile, or its scidex-oci was killed and that is not recorded yet.
            if not self.check_status(result.run_id).final:
                self.recover()
            if not self.check_status(result.run_id).final:
                raise
        return self.check_status(result.run_id)

    def get_logs(self, run_id: str) -> RunLogs:
        """What the run has written so far, standard output and standard error, as bytes."""
        return self.tool.logs(self.result(run_id).run_id)

    def result(self, run_id: str) -> Result:
        """The result of a run, as far as it has come. Raises NotFound."""
        return self.tool.show(run_id)

    def wait(self, run_id: str, timeout: Optional[float] = None) -> Result:
        """The result of a run, once it has ended. Raises TimeoutError after ``timeout`` seconds, while the run goes on, and
        CommandError if its scidex-oci was killed: see recover."""
        return self.tool.show(run_id, wait=True, timeout=timeout)

    def recover(self) -> None:
        """Records the end of runs whose scidex-oci was killed, as after a crash of the host, and harvests what they left."""
        self.tool.call("gc")


def _locked(path: StrPath) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd
