"""run: one analysis, from its request to its result."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Union

from .content import content, standard_input
from .engine_run import EngineRun
from .errors import Interrupted, error_of
from .manifest import Manifest, check_names, encode, plain
from .paths import absolute
from .result import Result
from .tool import Call, OnOutput, Tool

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .content import Content, Input
    from .tool import StrPath


OPTIONS = ("code", "files", "language", "check", "again", "overwrite", "flags", "stdin", "on_output", "tool")  # keywords of run that are no fields


def run(script: Optional[StrPath] = None, /, *, code: Optional[str] = None, files: Optional[Mapping[str, Content]] = None, language: Optional[str] = None,
        check: bool = False, again: Optional[str] = None, overwrite: bool = False, flags: Sequence[str] = (), stdin: Optional[Input] = None,
        on_output: Optional[OnOutput] = None, tool: Optional[Tool] = None, **fields: Unpack[Manifest]) -> Result:  # pyright: ignore[reportGeneralTypeIssues]
    """Runs one analysis and returns its result, however it ended, also that of a refused request.

    ``fields`` are those of a manifest: ``run("fit.py", data="measurements", memory="1GiB")``. The script is the positional argument
    or the field ``script``. ``code`` is Python instead of a script, or what ``language`` says: ``"r"``, ``"julia"`` or ``"sh"``.

    ``files`` are in the analysis' working directory, by name: bytes or text, the path of a file or directory to copy, a dict or list as
    JSON, an array as ``.npy``, or a DataFrame as CSV or, if the name ends in ``.parquet``, as Parquet. ``stdin`` is its standard input:
    text, bytes, the path of a file (``pathlib.Path``), or an open file, which is read as ``subprocess`` does.

    With ``check`` a result that is not complete is raised: AnalysisFailed, AnalysisCanceled, AnalysisError, RequestError. ``on_output``
    is called in another thread with pieces of what the analysis writes, standard output and standard error as they come. If it
    raises, the run is stopped and the exception is raised.

    ``again`` repeats the recorded request of a run, with its recorded script, and takes no fields: for a script as it is now pass
    ``flags=["--script=fit.py"]`` with it. ``overwrite`` lets ``export`` write into a directory that is not empty. ``flags`` are further
    flags of ``scidex-oci run``.

    The run goes through an engine that calls share (``scidex-oci serve``). It is a command of its own with ``again``, ``overwrite``,
    ``flags``, ``stdin`` or ``on_output``, which no engine takes, and if ``SCIDEX_OCI_ENGINE`` is ``off``.

    Ctrl-C asks the analysis to end, waits for its end and raises Interrupted with the result; a second one kills it. Raises
    NotInstalled, EngineLost or another CommandError if scidex-oci itself was killed, and TypeError or ValueError for what is no
    request, such as a keyword that is no field.
    """
    check_names(fields, "run()", OPTIONS)
    tool = tool or Tool()
    with content(with_script(script, fields), code, files, language) as request, standard_input(stdin) as given:
        check_request(tool, request, again, flags, on_output)
        if given is None and by_engine(again, overwrite, flags, on_output):
            result = _by_engine(tool, request)
            if result is not None:
                return finish(result, check)
        call = start(tool, request, again=again, overwrite=overwrite, flags=flags, stdin=given, on_output=on_output)
        try:
            call.wait()
        except KeyboardInterrupt:
            raise Interrupted(tool.outcome(call)) from None
        return finish(tool.outcome(call), check)


def by_engine(again: Optional[str], overwrite: bool, flags: Sequence[str], on_output: Optional[OnOutput]) -> bool:
    """Whether an engine takes a run: it repeats none, has flags of its own, and drops output that is not taken at once."""
    return again is None and not overwrite and not flags and on_output is None


def _by_engine(tool: Tool, fields: Mapping[str, Any]) -> Optional[Result]:
    """The result of a run through an engine, or None where there can be none."""
    one = EngineRun(tool, fields)
    try:
        one.wait()
    except KeyboardInterrupt:
        raise Interrupted(one.result()) from None
    return one.result() if one.served() else None


def with_script(script: Any, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields with a script that was given without its name."""
    if script is None:
        return fields
    if not isinstance(script, (str, os.PathLike)):
        raise TypeError(f"a script is the path of a file, not {script!r}; run a command by run(command=[\"echo\", \"hello\"])")
    if fields.get("script") is not None:
        raise TypeError(f"two scripts, {script!r} and {fields['script']!r}; give one")
    return {**fields, "script": script}


def start(tool: Tool, fields: Mapping[str, Any], *, again: Optional[str] = None, overwrite: bool = False,
          flags: Sequence[str] = (), stdin: Union[bytes, int, None] = None, on_output: Optional[OnOutput] = None,
          pass_fds: Sequence[int] = ()) -> Call:
    """Starts ``scidex-oci run`` for a request. ``stdin`` is the analysis' standard input; None: it has none."""
    check_request(tool, fields, again, flags, on_output)
    words: List[str] = ["run", "--json", "--quiet", *(["--overwrite"] if overwrite else []), *flags]
    if again is not None:
        return tool.start(*words, "--again", again, stdin=b"" if stdin is None else stdin, on_output=on_output)
    if stdin is None:
        return tool.start(*words, "--file", "-", stdin=encode(fields), on_output=on_output, pass_fds=pass_fds)
    manifest = tempfile.TemporaryFile()  # pylint: disable=consider-using-with # it is open until the command has ended
    # Relative paths of a manifest that is a file are relative to it.
    manifest.write(encode(absolute(plain(fields), os.path.abspath(tool.cwd or "."))))
    manifest.seek(0)
    call = tool.start(*words, "--file", f"/dev/fd/{manifest.fileno()}", stdin=stdin, on_output=on_output, pass_fds=[*pass_fds, manifest.fileno()])
    call.process.when_done(manifest.close)
    return call


def _check_program(fields: Mapping[str, Any], flags: Sequence[str]) -> None:
    """What scidex-oci refuses too, but in words of its command line."""
    script, command = fields.get("script"), fields.get("command")
    if not script and not command and not flags:
        raise TypeError('nothing to run; give a script, run(script="fit.py"), or a command, run(command=["echo", "hello"])')
    if script and command:
        raise TypeError(f"both a script, {script!r}, and a command, {command!r}; give one")


def check_request(tool: Any, fields: Mapping[str, Any], again: Optional[str], flags: Any, on_output: Any) -> None:
    """Raises TypeError or ValueError for arguments that cannot be a request."""
    if not isinstance(tool, Tool):
        raise TypeError(f"tool is a scidex_oci.Tool, such as Tool(binary=...), not {tool!r}")
    if isinstance(flags, (str, bytes)):
        raise TypeError(f"flags is a list of text, such as [{flags!r}], not {flags!r}")
    if on_output is not None and not callable(on_output):
        raise TypeError(f"on_output is a function that takes text, not {on_output!r}")
    if again is None:
        _check_program(fields, flags)
    elif fields:
        raise ValueError(f"again repeats a recorded request and takes no fields, but {', '.join(fields)} were given")


def finish(result: Result, check: bool) -> Result:
    """The result, or what is raised for it if that was asked for."""
    error = error_of(result) if check else None
    if error is not None:
        raise error
    return result
