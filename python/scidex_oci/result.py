"""The result of a run, as ``scidex-oci run --json`` and ``show --json`` print it."""

from __future__ import annotations

import base64
import contextlib
import difflib
import os
import re
import warnings
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Dict, Iterator, List, Mapping, Optional, Type, TypeVar, Union, overload

from . import markup
from .images import Image, image
from .keywords import in_keywords
from .records import dataframe

if TYPE_CHECKING:
    from .tables import Table
    from .tool import StrPath, Tool

T = TypeVar("T")

# Where in its standard input scidex-oci found a refused request, which this package wrote there: a batch numbers it by line.
_POSITION = re.compile(r"\A(-|standard input):[0-9]+: ")


class Status(str, Enum):
    """State of a run. Each is equal to its word in the JSON: ``status == "complete"``."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"  # by the analysis' own fault, or by a limit
    CANCELED = "canceled"
    ERROR = "error"  # scidex-oci or the host failed, or the request was refused
    LOST = "lost"  # killed with its scidex-oci, before its outputs were committed
    UNKNOWN = "unknown"  # a state of a newer scidex-oci

    @classmethod
    def _missing_(cls, value: object) -> Status:
        return cls.UNKNOWN

    def __str__(self) -> str:
        return self.value

    @property
    def final(self) -> bool:
        """Whether the run has ended: nothing of it changes any more."""
        return self not in (Status.QUEUED, Status.RUNNING, Status.UNKNOWN)

    @property
    def tes(self) -> str:
        """The state as GA4GH TES names it."""
        return _TES[self]


_TES = {
    Status.QUEUED: "QUEUED",
    Status.RUNNING: "RUNNING",
    Status.COMPLETE: "COMPLETE",
    Status.FAILED: "EXECUTOR_ERROR",
    Status.CANCELED: "CANCELED",
    Status.ERROR: "SYSTEM_ERROR",
    Status.LOST: "SYSTEM_ERROR",
    Status.UNKNOWN: "UNKNOWN",
}


def _nested(cls: Type[T]) -> T:
    return field(default_factory=cls, metadata={"one": cls})


def _list(cls: Type[T]) -> List[T]:
    return field(default_factory=list[T], metadata={"many": cls})


def _time() -> Optional[datetime]:
    return field(default=None, metadata={"time": True})


@dataclass(frozen=True)
class Hint:
    """What to do about the end of a run: its kind, and a sentence."""

    code: str = ""
    message: str = ""


@dataclass(frozen=True)
class Usage:
    """What a run used."""

    wall_ms: int = 0  # without suspended_ms
    suspended_ms: int = 0
    cpu_ms: int = 0
    memory_peak_bytes: int = 0
    pids_peak: int = 0
    work_bytes: int = 0  # the most that was seen in /work
    work_files: int = 0
    sampled: List[str] = field(default_factory=list[str])  # fields that are the greatest of samples


@dataclass(frozen=True)
class OOMLimit:
    """Whose memory ran out when the kernel killed: ``cgroup``, ``outer``, ``either`` or ``unknown``."""

    by: str = ""
    bytes: int = 0


@dataclass(frozen=True)
class Evidence:
    """The kernel's own counters, and what the watchdog saw if it ended the run."""

    oom_kills: int = 0
    pids_denied: int = 0
    throttled_ms: int = 0
    throttled_periods: int = 0
    periods: int = 0
    work_bytes: int = 0
    work_files: int = 0
    host_free_bytes: int = 0
    host_floor_bytes: int = 0
    oom_limit: Optional[OOMLimit] = field(default=None, metadata={"one": OOMLimit})


@dataclass(frozen=True)
class Enforcement:
    """What held a limit: ``cgroup``, ``outer``, ``rlimit``, ``tmpfs``, ``watchdog`` or ``none``."""

    limit: str = ""
    asked: str = ""
    effective: str = ""
    by: str = ""


@dataclass(frozen=True)
class Sandbox:
    """What the analysis ran in."""

    user_namespace: bool = False
    network: str = ""
    seccomp: str = ""
    landlock: int = 0  # version that held the analysis; 0 if the kernel has none
    rootfs: str = ""
    rootfs_digest: Optional[str] = None
    rootfs_reference: Optional[str] = None
    packages_digest: Optional[str] = None
    uid_on_host: int = 0
    ids: str = ""
    socket_wall: str = ""
    audit: str = ""
    address_randomization: str = ""  # off, on; empty if the run was not to be deterministic
    groups: List[int] = field(default_factory=list[int])


@dataclass(frozen=True)
class Log:
    """One stream: ``bytes`` were written by the analysis, at most ``log_size`` of them are kept."""

    bytes: int = 0
    truncated: bool = False
    sha256: str = ""


@dataclass(frozen=True)
class Logs:
    """The two streams."""

    stdout: Log = _nested(Log)
    stderr: Log = _nested(Log)


@dataclass(frozen=True)
class Script:
    """The script of the run, as kept."""

    name: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class Request:
    """One request of the analysis, through the proxy of its run."""

    at: Optional[datetime] = _time()
    method: str = ""  # CONNECT: a tunnel, with any number of requests over TLS in it
    host: str = ""
    port: int = 0
    address: str = ""  # the server's; empty if none was reached
    sent_bytes: int = 0
    received_bytes: int = 0
    ms: int = 0
    verdict: str = ""  # allowed, refused (by the proxy), failed (by the network or the server)
    why: str = ""


@dataclass(frozen=True)
class Requests:
    """What the analysis asked of the hosts that it might ask."""

    hosts: List[str] = field(default_factory=list[str])
    total: int = 0
    refused: int = 0
    failed: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    upload_bytes: int = 0  # the bound of sent_bytes
    list: List[Request] = _list(Request)  # the first 100


@dataclass(frozen=True)
class Stdin:
    """What the analysis read of its standard input, as kept."""

    bytes: int = 0
    sha256: str = ""


@dataclass(frozen=True)
class Statement:
    """The signed statement of a run, by the digests of its blobs."""

    sha256: str = ""
    result_sha256: str = ""  # of the result as it was signed
    key_id: str = ""


@dataclass(frozen=True)
class Start:
    """How a script started that could have been prepared while it waited for its turn in a batch."""

    kind: str = "cold"  # "ready": its modules were imported in its own container before; "forked", of earlier versions: from a process with them
    reason: str = ""  # why it was cold
    modules: Dict[str, str] = field(default_factory=dict[str, str])  # versions by the name of the package
    shared_bytes: int = 0  # of earlier versions: memory that a forked analysis began with, and shared


@dataclass(frozen=True)
class Input:
    """Something of the host that the analysis could read."""

    flag: str = ""
    source: str = ""
    destination: str = ""
    digested: str = "none"  # what the digest is of: content, listing, none
    sha256: Optional[str] = None
    files: int = 0
    bytes: int = 0
    changed: bool = False  # while the run went on
    message: str = ""


@dataclass(frozen=True)
class PostProcess:
    """The end of the post-process command."""

    command: List[str] = field(default_factory=list[str])
    exit_code: Optional[int] = None
    signal: Optional[str] = None
    timed_out: bool = False
    started_at: Optional[datetime] = _time()
    wall_ms: int = 0
    stderr: str = ""


@dataclass(frozen=True)
class AuditEvent:
    """What the analysis tried and was refused, ``count`` times."""

    at: Optional[datetime] = _time()
    kind: str = ""
    address: str = ""
    address_b64: Optional[str] = None
    severity: str = ""
    allowed: bool = False
    blocked: bool = False
    count: int = 0


def _exact(path: str, path_b64: Optional[str]) -> bytes:
    return path.encode() if path_b64 is None else base64.b64decode(path_b64)


@dataclass(frozen=True, repr=False)
class Output:
    """One harvested file. ``path`` is escaped if the name is not UTF-8; ``name`` is exact."""

    path: str = ""
    path_b64: Optional[str] = None
    size: int = 0
    sha256: str = ""
    media_type: str = ""
    mode: str = ""
    partial: bool = False  # open for writing when the run was ended, or that could not be known
    _result: ClassVar[Optional[Result]] = None  # whose it is; no field, so that asdict does not go round in a circle

    def __repr__(self) -> str:
        return f"<Output {self.path!r}: {self.size} bytes{', partial' if self.partial else ''}>"

    @property
    def name(self) -> bytes:
        """The path as the bytes that it is."""
        return _exact(self.path, self.path_b64)

    def read(self) -> bytes:
        """What it holds."""
        if self._result is None:
            raise ValueError(f"this output belongs to no result that could be asked; read it by result.read({self.path!r})")
        return self._result.read(os.fsdecode(self.name))


@dataclass(frozen=True)
class Rejected:
    """An entry of the working directory that is no output."""

    path: str = ""
    path_b64: Optional[str] = None
    reason: str = ""
    detail: str = ""

    @property
    def name(self) -> bytes:
        """The path as the bytes that it is."""
        return _exact(self.path, self.path_b64)


@dataclass(frozen=True, repr=False)
class Result:
    """One run. Fields are those of the JSON; what this version does not know is in ``raw`` all the same."""

    v: int = 1
    id: str = ""
    attempt: int = 0  # 0: refused, the catalog has nothing of it
    state: Status = Status.UNKNOWN
    reason: str = ""
    message: str = ""
    exit_code: Optional[int] = None  # of a run that has ended
    signal: Optional[str] = None
    created_at: Optional[datetime] = _time()
    started_at: Optional[datetime] = _time()
    finished_at: Optional[datetime] = _time()
    usage: Usage = _nested(Usage)
    evidence: Evidence = _nested(Evidence)
    series: Optional[Dict[str, Any]] = None  # use over time
    enforced: List[Enforcement] = _list(Enforcement)
    sandbox: Sandbox = _nested(Sandbox)
    logs: Logs = _nested(Logs)
    script: Optional[Script] = field(default=None, metadata={"one": Script})
    stdin: Optional[Stdin] = field(default=None, metadata={"one": Stdin})
    start: Optional[Start] = field(default=None, metadata={"one": Start})
    inputs: List[Input] = _list(Input)
    action_id: Optional[str] = None
    requests: Optional[Requests] = field(default=None, metadata={"one": Requests})
    statement: Optional[Statement] = field(default=None, metadata={"one": Statement})
    post_process: Optional[PostProcess] = field(default=None, metadata={"one": PostProcess})
    kept: Optional[str] = None  # the working directory, if it was kept
    warnings: List[str] = field(default_factory=list[str])
    hints: List[Hint] = _list(Hint)  # what to do about the end
    outputs: List[Output] = _list(Output)  # at most 10,000; all_outputs() has the rest
    rejected: List[Rejected] = _list(Rejected)
    outputs_total: int = 0
    rejected_total: int = 0
    listing_truncated: bool = False
    audit: List[AuditEvent] = _list(AuditEvent)
    audit_total: int = 0
    pinned: bool = False
    outputs_removed_at: Optional[datetime] = _time()
    reused_from: str = ""  # ID@ATTEMPT of this run, if it answered another request
    labels: Dict[str, str] = field(default_factory=dict[str, str])
    host: str = ""
    boot_id: str = ""
    tool_version: str = ""
    analysis: Dict[str, Any] = field(default_factory=dict[str, Any])
    line: int = 0  # of the batch, from 1
    ran: str = ""  # the script's name or the command, with arguments, on one line; cut
    raw: Dict[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)
    tool: Optional[Tool] = field(default=None, repr=False, compare=False)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], tool: Optional[Tool] = None) -> Result:
        """The result in a decoded JSON object; ``tool`` is asked for outputs and logs."""
        values = _values(cls, raw)
        values["hints"] = [Hint(hint.code, in_keywords(hint.code, hint.message)) for hint in values.get("hints", ())]
        values.update(state=Status(raw.get("state")), raw=dict(raw), tool=tool)
        message = values.get("message", "")
        if not values.get("attempt"):
            values["message"] = in_keywords("", _POSITION.sub("", message))
        elif values.get("reason") == "work_full":  # a part of others may be what the analysis wrote
            values["message"] = in_keywords("", message)
        result = cls(**values)
        for output in result.outputs:
            _belongs(output, result)
        return result

    def __repr__(self) -> str:
        """One line; the whole is in ``raw``."""
        end = f"{self.state} ({self.reason})" if self.reason else str(self.state)
        if not self.attempt:
            return f"<Result {self.id or 'without a run'}: {end}: {_cut(self.message)}>"
        outputs = "1 output" if self.outputs_total == 1 else f"{self.outputs_total} outputs"
        why = f": {_cut(self.message)}" if self.state.final and not self.ok else ""
        return f"<Result {self.run_id}: {end}, {outputs}, {self.usage.wall_ms / 1000:g} s{why}>"

    def _repr_html_(self) -> str:
        from .errors import ScidexError  # pylint: disable=import-outside-toplevel,cyclic-import # exceptions have results

        name = self.run_id if self.attempt else self.id or "without a run"
        end = markup.strong(self.state), markup.text(self.reason) if self.reason else ""
        duration = f"{self.usage.wall_ms / 1000:g} s" if self.started_at is not None and self.state.final else ""
        parts = [markup.paragraph(markup.text(name), *end, duration), markup.paragraph(markup.text(self.message, 500))]
        parts += [markup.paragraph("Hint:", markup.text(hint.message, 500)) for hint in self.hints[:5]]
        if self.outputs:
            note = ["note"] if any(o.partial for o in self.outputs) else []
            rows = ([o.path, o.size, o.media_type, "partial" if o.partial else ""][: 3 + len(note)] for o in self.outputs)
            parts.append(markup.grid(["output", "bytes", "media type", *note], rows, self.outputs_total))
        with contextlib.suppress(ScidexError, ValueError):  # without logs it is still a result
            logs = self._tool().logs(self.run_id)
            parts += [markup.log("standard output ends:", logs.stdout), markup.log("standard error ends:", logs.stderr)]
        return markup.block(parts)

    def __bool__(self) -> bool:
        """As ``ok``. Compare with None if a result may be missing."""
        return self.ok

    @property
    def run_id(self) -> str:
        """``ID@ATTEMPT``: this very run, also when there are later attempts."""
        return f"{self.id}@{self.attempt}"

    @property
    def ok(self) -> bool:
        """Whether the run is complete: it ended well, and its outputs are committed."""
        return self.state is Status.COMPLETE

    @property
    def explanation(self) -> str:
        """Why the run ended as it did, and what to do about it: the message, and a line for each hint."""
        return "\n".join([self.message, *(f"hint: {hint.message}" for hint in self.hints)])

    @property
    def completion_notes(self) -> str:
        """A paragraph for people: how the run ended and why, its outputs and warnings."""
        sentences = [f"{self.state}{f' ({self.reason})' if self.reason else ''}: {_sentence(self.message)}"]
        if self.started_at is not None and self.state.final and self.state is not Status.LOST:
            sentences.append(f"Exit code {self.exit_code} after {self.usage.wall_ms / 1000:g} s.")
        if self.attempt:
            sentences.append(_outputs_sentence(self))
        if self.rejected_total:
            shown = ", ".join(f"{r.path} ({r.reason})" for r in self.rejected[:5])
            sentences.append(f"Not kept: {self.rejected_total}, {shown}{_more(self.rejected_total - 5)}.")
        if self.kept:
            sentences.append(f"The working directory is kept: {self.kept}.")
        sentences += [f"Hint: {_sentence(hint.message)}" for hint in self.hints]
        sentences += [f"Warning: {_sentence(warning)}" for warning in self.warnings]
        return " ".join(sentences)

    def read(self, path: StrPath) -> bytes:
        """What an output holds. Bytes that are not UTF-8 are in ``path`` as ``os.fsdecode`` makes them.

        Raises OutputNotFound, a FileNotFoundError, if there is no such output.
        """
        from . import engine_run  # pylint: disable=import-outside-toplevel,cyclic-import # it makes results

        name = os.fspath(path)
        self._check_output(name)
        size = next((output.size for output in self.outputs if output.path == name), None)
        small = engine_run.read(self._tool(), self.run_id, name, size)
        return self._tool().call("outputs", "cat", "--", self.run_id, name) if small is None else small

    def _check_output(self, name: str) -> None:
        """Raises OutputNotFound for a name that an ended run does not have."""
        from .errors import OutputNotFound  # pylint: disable=import-outside-toplevel,cyclic-import # exceptions have results

        tool = self._tool()
        names = [os.fsdecode(output.name) for output in self.outputs]
        if name in names or self.listing_truncated or not self.state.final:
            return
        why = next((f"it was rejected: {r.reason} {r.detail}".rstrip() for r in self.rejected if os.fsdecode(r.name) == name), "")
        if not why:
            close = difflib.get_close_matches(name, names, 1)
            others = ", ".join(map(repr, close or names[:5]))
            why = f"it has {others}{'' if close else _more(len(names) - 5)}" if names else "it has none"
        raise OutputNotFound(f"{self.run_id} has no output {name!r}; {why}", tool.argv("outputs", "cat", "--", self.run_id, name))

    def dataframe(self, path: StrPath, **options: Any) -> Any:
        """An output as a pandas.DataFrame, by the end of its name: CSV, TSV, JSON (an object, an array of objects, or an object a
        line), or Parquet if pandas can read it. ``options`` are those of ``read_csv`` or ``read_parquet``.

        Raises ImportError, with what to install, if there is no pandas: ``table`` needs none.
        """
        return dataframe(os.fspath(path), self.read(path), options)

    def table(self, path: StrPath) -> Table:
        """The records of an output that is CSV, TSV or JSON, as a Table. Raises ValueError if they cannot be read."""
        from .tables import table_of  # pylint: disable=import-outside-toplevel,cyclic-import # it joins results

        return table_of(os.fspath(path), self.read(path))

    def image(self, path: StrPath) -> Image:
        """An output that is a PNG, JPEG or SVG, as a notebook shows it. Raises ValueError if it is none."""
        return image(os.fspath(path), self.read(path))

    def export(self, directory: StrPath, overwrite: bool = False) -> None:
        """Writes the outputs and ``scidex-result.json`` there; ``overwrite`` if it is not empty. Warns of an output that has the name
        of that file, which is not written."""
        from .errors import CommandError  # pylint: disable=import-outside-toplevel,cyclic-import # it has results

        switches = ["--overwrite"] if overwrite else []
        call = self._tool().start("outputs", "export", *switches, "--", self.run_id, os.path.abspath(directory))
        call.wait()
        try:
            call.check()
        except CommandError as error:
            error.args = (in_keywords("", str(error)),)
            raise
        for line in call.said.decode(errors="replace").splitlines():
            warnings.warn(line, stacklevel=2)

    def all_outputs(self) -> Iterator[Output]:
        """All outputs, also if ``outputs`` is cut off at 10,000."""
        if not self.listing_truncated:
            yield from self.outputs
            return
        for entry in self._tool().lines("outputs", "ls", "--json", "--", self.run_id):
            if entry.get("verdict") == "output":
                yield _belongs(Output(**_values(Output, entry)), self)

    @overload
    def stdout(self) -> bytes: ...
    @overload
    def stdout(self, encoding: str) -> str: ...
    def stdout(self, encoding: Optional[str] = None) -> Union[bytes, str]:
        """What is kept of the analysis' standard output; with an encoding, as text, in which what is none of it is replaced."""
        return _text(self._tool().logs(self.run_id).stdout, encoding)

    @overload
    def stderr(self) -> bytes: ...
    @overload
    def stderr(self, encoding: str) -> str: ...
    def stderr(self, encoding: Optional[str] = None) -> Union[bytes, str]:
        """What is kept of the analysis' standard error, as ``stdout`` has it."""
        return _text(self._tool().logs(self.run_id).stderr, encoding)

    def _tool(self) -> Tool:
        if self.tool is None:
            raise ValueError("this result was not made by a scidex-oci that could be asked; see Result.from_json")
        if not self.attempt:
            raise ValueError(f"this run was refused and has neither outputs nor logs: {self.message}")
        return self.tool


def _text(data: bytes, encoding: Optional[str]) -> Union[bytes, str]:
    return data if encoding is None else data.decode(encoding, errors="replace")


def _belongs(output: Output, result: Result) -> Output:
    object.__setattr__(output, "_result", result)  # it is frozen
    return output


def _cut(text: str) -> str:
    """At most 100 characters, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:97] + "..."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def _outputs_sentence(result: Result) -> str:
    if not result.outputs_total:
        return "No outputs." if result.state.final else "No outputs yet."
    shown = ", ".join(o.path + (" (partial)" if o.partial else "") for o in result.outputs[:5])
    return f"Outputs: {result.outputs_total}, {shown}{_more(result.outputs_total - 5)}."


def _values(cls: Type[Any], raw: Mapping[str, Any]) -> Dict[str, Any]:
    """The fields of cls that raw has; null when no null is meant is as if it were missing."""
    values: Dict[str, Any] = {}
    for one in fields(cls):
        value = raw.get(one.name)
        if value is None:
            continue
        if "one" in one.metadata:
            value = one.metadata["one"](**_values(one.metadata["one"], value))
        elif "many" in one.metadata:
            value = [one.metadata["many"](**_values(one.metadata["many"], item)) for item in value]
        elif "time" in one.metadata:
            value = parse_time(value)
        values[one.name] = value
    return values


def parse_time(text: str) -> datetime:
    """RFC 3339 in UTC with any number of digits, a datetime keeps six of them."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    moment = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S")
    return moment.replace(microsecond=int((fraction + "000000")[:6]), tzinfo=timezone.utc)
