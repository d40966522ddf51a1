"""Which scidex-oci to call, and with which catalog."""

from __future__ import annotations

import codecs
import json
import os
import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import engine_run
from .errors import CommandError, NotFound, OutputNotFound, ScidexError
from .process import Process, Sink, Stdin
from .result import Result
from .tables import Table

if TYPE_CHECKING:
    StrPath = Union[str, "os.PathLike[str]"]

OnOutput = Callable[[str], object]

_KEPT = 1 << 16  # bytes kept of a command's standard error, for the message of an exception

LAST = "@last"  # the newest run
_NO_OUTPUT = re.compile(r'\Arun "[^"]*" has no output |" is no output: it was rejected as ')
_TRUNCATED = re.compile(rb"(scidex-oci: std(out|err) is truncated: [^\n]*\n)+\Z")


class RunLogs(NamedTuple):
    """What a run has written."""

    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, repr=False)
class Tool:
    """How to call scidex-oci. What is not given it takes from its own environment and config file.

    ``binary`` is a path or a name in PATH; by default the variable ``SCIDEX_OCI_BIN``, else ``scidex-oci``. ``environ`` is
    added to Python's own environment, as for secrets. Relative paths of manifests and of scripts start at ``cwd``.
    """

    binary: Optional[StrPath] = None
    root: Optional[StrPath] = None
    db: Optional[str] = None
    blobs: Optional[str] = None
    config: Optional[StrPath] = None
    environ: Optional[Mapping[str, str]] = None
    cwd: Optional[StrPath] = None

    def __repr__(self) -> str:
        """What is set; of the environment, which may hold secrets, the names."""
        given = [f"{name}={value!r}" for name, value in vars(self).items() if value is not None and name != "environ"]
        given += [f"environ={sorted(self.environ)}"] if self.environ else []
        return f"Tool({', '.join(given)})"

    def argv(self, *words: str) -> List[str]:
        """The command line of a command of scidex-oci."""
        argv = [os.fspath(self.binary or os.environ.get("SCIDEX_OCI_BIN") or "scidex-oci")]
        for name in ("config", "root", "db", "blobs"):
            value = getattr(self, name)
            if value is not None:
                argv += [f"--{name}", os.fspath(value)]
        return argv + list(words)

    def env(self) -> Dict[str, str]:
        """The environment that commands get."""
        return {**os.environ, **(self.environ or {})}

    def start(self, *words: str, stdin: Stdin = b"", on_output: Optional[OnOutput] = None, stdout: Optional[Sink] = None,
              pass_fds: Sequence[int] = (), keep: Optional[int] = _KEPT) -> Call:
        """Starts a command, in a thread. Standard output is kept, or goes to ``stdout``; of standard error the last ``keep``
        bytes are kept, with None all."""
        return Call(Process(self.argv(*words), cwd=None if self.cwd is None else os.fspath(self.cwd), env=self.env(),
                            stdin=stdin, pass_fds=pass_fds, outlives="--detach" in words), self, on_output, stdout, keep)

    def call(self, *words: str) -> bytes:
        """What a command prints on standard output. Raises CommandError if it fails."""
        call = self.start(*words)
        call.wait()
        call.check()
        return bytes(call.stdout)

    def lines(self, *words: str) -> Iterator[Dict[str, Any]]:
        """The objects that a command prints, one a line."""
        for line in self.call(*words).splitlines():
            yield json.loads(line)

    def show(self, run_id: str, wait: bool = False, timeout: Optional[float] = None) -> Result:
        """The result of a run, as far as it has come; with ``wait``, once it has ended, or TimeoutError after so many seconds.

        ``run_id`` is ``ID``, for its last attempt, ``ID@ATTEMPT``, or ``@last``, the newest run; the beginnings of ids, which the
        command line takes, are not enough here. Raises NotFound.
        """
        if wait and run_id == LAST:
            run_id = self.show(run_id).run_id  # another run may be the newest one by then
        try:
            result = engine_run.shown(self, run_id, engine_run.ask_show(self, run_id, wait), timeout)
            if result is None:
                result = self._shown(run_id, wait, timeout)
        except TimeoutError:
            result = self.show(run_id)  # it may have ended long ago
            if result.state.final:
                return result
            raise TimeoutError(f"{run_id} has not ended in time, and goes on") from None
        return self.named(result, run_id)

    def named(self, result: Result, run_id: str) -> Result:
        """The result, if it is that of this id and not of one that begins so."""
        if run_id not in (LAST, result.id, result.run_id):
            raise NotFound(f'no run "{run_id}" in this catalog', self.argv("show", "--json", "--", run_id))
        return result

    def _shown(self, run_id: str, wait: bool, timeout: Optional[float]) -> Result:
        """What the command says."""
        call = self.start("show", "--json", *(["--wait"] if wait else []), "--", run_id)
        call.wait(timeout)
        call.check()
        return call.result()

    def logs(self, run_id: str) -> RunLogs:
        """What a run has written so far; of a stream that was longer than ``log_size``, what is kept."""
        asked = engine_run.AskedLogs(self, run_id)
        if asked.come():
            return RunLogs(*asked.logs())
        call = self.start("logs", "--", run_id, keep=None)
        call.wait()
        return self.logs_of(call)

    def logs_of(self, call: Call) -> RunLogs:
        """What a finished ``logs`` has printed."""
        call.check()
        # The command says on standard error, after that of the analysis, what was truncated.
        return RunLogs(bytes(call.stdout), _TRUNCATED.sub(b"", bytes(call.said)))

    def ls(self, *flags: str) -> Iterator[Dict[str, Any]]:
        """The runs as ``scidex-oci ls --json`` lists them; ``flags`` are its."""
        return self.lines("ls", "--json", *flags)

    def table(self, path: StrPath, *, labels: Optional[Mapping[str, str]] = None, states: Sequence[str] = (), flags: Sequence[str] = ()) -> Table:
        """The output ``path`` of all runs of the catalog with these labels, as ``scidex-oci table`` joins it: of complete ones, or those in
        ``states``, the last attempts. ``flags`` are its further ones, such as ``--since=7d``.

        ``warnings`` of the table name runs that are not in it. Raises CommandError if it would have no row, or if a content is damaged.
        """
        words = [f"--label={name}={value}" for name, value in (labels or {}).items()] + [f"--state={state}" for state in states]
        call = self.start("table", "--format=json", *words, *flags, "--", os.fspath(path))
        call.wait()
        call.check()
        rows = [json.loads(line) for line in call.stdout.split(b"\n") if line]
        return Table(rows, warnings=call.said.decode(errors="replace").splitlines())

    def outcome(self, call: Call) -> Result:
        """The result that a finished ``run`` has printed, also if it was stopped before it could."""
        if call.process.error is not None:
            raise call.process.error
        if not call.stdout and call.process.returncode in (-signal.SIGINT, -signal.SIGTERM):
            # Our signal killed it before it handled signals, which is before it makes anything.
            return Result.from_json({"v": 1, "state": "canceled", "reason": "stopped", "message": "stopped before it started",
                                     "exit_code": 128 - call.process.returncode}, self)
        return call.result()


class Call:
    """A command of scidex-oci under way: what it has printed, and its end."""

    def __init__(self, process: Process, tool: Tool, on_output: Optional[OnOutput],
                 stdout: Optional[Sink], keep: Optional[int]) -> None:
        self.process, self.tool = process, tool
        self.stdout = bytearray()
        self.said = bytearray()  # the end of what it said on standard error
        self._on_output, self._keep = on_output, keep
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        process.begin(stdout or self.stdout.extend, self._hear)

    def _hear(self, chunk: bytes) -> None:
        self.said += chunk
        if self._keep is not None:
            del self.said[: -self._keep]
        text = self._decoder.decode(chunk)
        if self._on_output is not None and text:
            self._on_output(text)

    def wait(self, timeout: Optional[float] = None) -> None:
        """Waits for the end. What is raised meanwhile, KeyboardInterrupt above all, or TimeoutError, ends the command first."""
        raised: Optional[BaseException] = None
        heard = passed_on = 0
        while True:
            try:
                while passed_on < heard:
                    self.process.signal(signal.SIGINT)
                    passed_on += 1
                if not self.process.wait(None if raised else timeout):
                    raise TimeoutError
                break
            except BaseException as error:  # pylint: disable=broad-except # it is raised after the end
                raised, heard = raised or error, heard + 1
        if raised is not None:
            raise raised

    def result(self) -> Result:
        """The object on standard output. Raises CommandError if there is none."""
        try:
            return Result.from_json(json.loads(self.stdout), self.tool)
        except (ValueError, TypeError, AttributeError) as error:
            raise self._failure() from error

    def check(self) -> None:
        """Raises what went wrong, if something did."""
        if self.process.error is not None:
            raise self.process.error
        if self.process.returncode:
            raise self._failure()

    def _failure(self) -> ScidexError:
        code = self.process.returncode
        said = self.said.decode(errors="replace").strip().splitlines()
        message = said[-1] if said else f"{self.process.argv[0]} ended with {code} and said nothing"
        if code is not None and code < 0:
            message = f"{self.process.argv[0]} was killed by signal {-code}; \"show\" has the result of its run"
        message = message[len("scidex-oci: "):] if message.startswith("scidex-oci: ") else message
        unknown = message.startswith("no run ") or "is the beginning of several ids; type " in message
        kind = NotFound if unknown else OutputNotFound if _NO_OUTPUT.search(message) else CommandError
        return kind(message, self.process.argv, code)
