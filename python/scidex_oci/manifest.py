"""A request: the fields of a manifest."""

from __future__ import annotations

import difflib
import json
import math
import os
import secrets
import shlex
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Collection, Dict, List, Mapping, Sequence, TypedDict, Union

if TYPE_CHECKING:
    from .tool import StrPath

    Text = Union[str, int, float, bool]
    Size = Union[int, str]
    Duration = Union[int, float, str, timedelta]


class Manifest(TypedDict, total=False):
    """The fields of a manifest; scidex-oci checks them, and docs/schema/manifest.json describes them.

    A size is a number of bytes or text as ``"512MiB"``, a duration a number of seconds, text as ``"30m"``, or a timedelta.
    """

    id: str
    labels: Mapping[str, Text]
    command: Sequence[Union[str, "os.PathLike[str]"]]
    script: StrPath
    args: Sequence[Union[str, "os.PathLike[str]"]]
    env: Mapping[str, Text]
    secrets: Sequence[str]
    data: StrPath
    docs: StrPath
    project: StrPath
    inputs: Sequence[StrPath]
    stage: StrPath
    export: StrPath
    outputs: Sequence[str]
    exclude: Sequence[str]
    workdir: str
    rootfs: StrPath
    runtime: StrPath
    ids: str
    memory: Size
    cpus: float
    pids: int
    timeout: Duration
    grace: Duration
    log_size: Size
    work_size: Size
    work_files: int
    work_storage: str
    allow_hosts: list[str]
    allow_upload: Size
    limits: str
    digest_inputs: str
    deterministic: bool
    keep: str
    preload: str


def encode(fields: Mapping[str, Any]) -> bytes:
    """The manifest as one line of JSON. A field that is None is left out."""
    return json.dumps(plain(fields), ensure_ascii=True).encode() + b"\n"


def plain(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """The manifest as JSON has it. A field that is None is left out."""
    return {name: _field(name, value) for name, value in mapping(fields).items() if value is not None}


def new_id() -> str:
    """As scidex-oci makes one: ids of different seconds sort by time."""
    return f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def mapping(fields: Any) -> Mapping[str, Any]:
    """The fields, if they are a mapping."""
    found: Any = fields  # of any types; isinstance would make them unknown ones
    if not isinstance(fields, Mapping):
        raise TypeError(f"an analysis is a mapping of manifest fields, such as {{\"script\": \"fit.py\"}}, not {fields!r}")
    return found  # type: ignore[no-any-return]


def close_name(name: Any, options: Collection[str] = ()) -> str:
    """The field or option that was probably meant by a name, empty without one."""
    return "".join(difflib.get_close_matches(str(name), [*Manifest.__annotations__, *options], 1))


def check_names(fields: Any, where: str, options: Collection[str] = ()) -> None:
    """Raises TypeError for a name that no field has; ``where`` also takes ``options``."""
    for name in mapping(fields):
        if name in (*Manifest.__annotations__, *options):
            continue
        close = close_name(name, options)
        advice = f'did you mean "{close}"?' if close else "help(scidex_oci.Manifest) lists them"
        raise TypeError(f'{where} has no field "{name}"; {advice}')


LISTS = ("command", "args", "secrets", "inputs", "outputs", "exclude", "allow_hosts")


def _field(name: str, value: Any) -> Any:
    if name in LISTS and isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name}: must be a list, such as {json.dumps(_words(name, os.fspath(value)))}, not {value!r}")
    return _plain(name, value)


def _words(name: str, text: str) -> List[str]:
    """The list that was probably meant by a text."""
    try:
        return shlex.split(text) if name in ("command", "args") else [text]
    except ValueError:  # a quotation that does not end
        return [text]


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name}: a manifest cannot hold the number {value}")
    if isinstance(value, (str, int, float)):
        return value
    given: Any = value  # isinstance would make what is in it of an unknown type
    if isinstance(value, os.PathLike):
        return given.__fspath__()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {key: _plain(f'{name}["{key}"]', item) for key, item in given.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_plain(f"{name}[{i}]", item) for i, item in enumerate(given)]
    raise TypeError(f"{name}: a manifest cannot hold {value!r} ({type(value).__name__}); give text, a path, a number, a list or a mapping")
