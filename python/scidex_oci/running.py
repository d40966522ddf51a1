"""run: one analysis, from its request to its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence

from .errors import Interrupted, error_of
from .manifest import Manifest, encode
from .result import Result
from .tool import Call, OnOutput, Tool

if TYPE_CHECKING:
    from typing_extensions import Unpack


def run(*, check: bool = False, again: Optional[str] = None, overwrite: bool = False,
        flags: Sequence[str] = (), on_output: Optional[OnOutput] = None, tool: Optional[Tool] = None,
        **fields: Unpack[Manifest]) -> Result:
    """Runs one analysis and returns its result, however it ended, also that of a refused request.

    ``fields`` are those of a manifest: ``run(script="fit.py", data="measurements", memory="1GiB")``. With ``check``, a
    result that is not complete is raised: AnalysisFailed, AnalysisCanceled, AnalysisError, RequestError. ``again`` repeats
    the recorded request of a run and takes no fields; ``overwrite`` lets ``export`` write into a directory that is not
    empty; ``flags`` are further flags of ``scidex-oci run``. ``on_output`` is called with pieces of what the analysis
    writes, standard output and standard error as they come, in another thread; where it raises, the run is stopped and
    that is raised.

    Ctrl-C asks the analysis to end, waits for what comes of it and raises Interrupted with the result; a second one kills
    it. Raises NotInstalled, and CommandError where scidex-oci itself was killed.
    """
    tool = tool or Tool()
    call = start(tool, fields, again=again, overwrite=overwrite, flags=flags, on_output=on_output)
    try:
        call.wait()
    except KeyboardInterrupt as interrupt:
        raise Interrupted(tool.outcome(call)) from interrupt
    return finish(tool.outcome(call), check)


def start(tool: Tool, fields: Mapping[str, Any], *, again: Optional[str] = None, overwrite: bool = False,
          flags: Sequence[str] = (), on_output: Optional[OnOutput] = None, pass_fds: Sequence[int] = ()) -> Call:
    """Starts ``scidex-oci run`` for a request."""
    words: List[str] = ["run", "--json", "--quiet", *(["--overwrite"] if overwrite else []), *flags]
    if again is None:
        return tool.start(*words, "--file", "-", stdin=encode(fields), on_output=on_output, pass_fds=pass_fds)
    if fields:
        raise ValueError(f"again repeats a recorded request and takes no fields, but {', '.join(fields)} were given")
    return tool.start(*words, "--again", again, on_output=on_output)


def finish(result: Result, check: bool) -> Result:
    """The result, or what is raised for it where that was asked for."""
    error = error_of(result) if check else None
    if error is not None:
        raise error
    return result
