"""What goes wrong. An exception about a run carries its result."""

from __future__ import annotations

from typing import Dict, Optional, Sequence, Type

from .result import Result, Status


class ScidexError(Exception):
    """The base of all exceptions of this package, except Interrupted."""


class NotInstalled(ScidexError):
    """The program scidex-oci was not found, or cannot be started."""


class CommandError(ScidexError):
    """A command of scidex-oci failed and printed no result."""

    def __init__(self, message: str, argv: Sequence[str] = (), returncode: Optional[int] = None) -> None:
        super().__init__(message)
        self.argv = list(argv)
        self.returncode = returncode  # negative: the signal that killed it


class EngineLost(CommandError):
    """An engine was killed while it ran the analysis. It is not repeated: ``scidex-oci gc``, or the next run, records its end.

    ``ids`` are its runs, which ``Tool.show`` finds if they had started.
    """

    state = Status.LOST

    def __init__(self, message: str, argv: Sequence[str] = (), returncode: Optional[int] = None, ids: Sequence[str] = ()) -> None:
        super().__init__(f"{', '.join(ids)}: {message}" if ids else message, argv, returncode)
        self.ids = list(ids)


class NotFound(CommandError):
    """There is no such run in the catalog."""


class OutputNotFound(CommandError, FileNotFoundError):
    """A run has no output of that name."""


class ResultError(ScidexError):
    """A run did not end well; ``result`` has the details."""

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        name = self.result.run_id if self.result.attempt else self.result.id
        return f"{name}: {self.result.explanation}" if name else self.result.explanation


class AnalysisFailed(ResultError):
    """The analysis ended badly, by its own fault or by a limit."""


class AnalysisCanceled(ResultError):
    """The run was stopped."""


class AnalysisError(ResultError):
    """scidex-oci or the host failed, or the run was lost."""


class RequestError(AnalysisError):
    """The request was refused: nothing was run."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while ``run`` waited. The analysis was asked to end as well, and this is its result.

    If a Batch raises it, ``results`` are all that were not iterated over yet, also those that Ctrl-C ended, and ``result`` is the last.
    """

    def __init__(self, result: Result, results: Sequence[Result] = ()) -> None:
        super().__init__(result)
        self.result = result
        self.results = list(results) or [result]

    def __str__(self) -> str:
        return self.result.completion_notes


_BY_STATE: Dict[Status, Type[ResultError]] = {
    Status.FAILED: AnalysisFailed,
    Status.CANCELED: AnalysisCanceled,
    Status.ERROR: AnalysisError,
    Status.LOST: AnalysisError,
}


def error_of(result: Result) -> Optional[ResultError]:
    """The exception for a result, or None if it is complete, or has not ended."""
    if result.state is Status.ERROR and result.reason == "request":
        return RequestError(result)
    kind = _BY_STATE.get(result.state)
    return kind(result) if kind else None
