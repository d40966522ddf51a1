"""Code, files and standard input that are given as values. Code and files are written to a private directory for the time of the run.

Its lock says that it is in use. If Python is killed, the engine or the command of the run removes it, and ``gc`` what they leave.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import io
import json
import os
import shutil
import tempfile
from typing import IO, TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Union

if TYPE_CHECKING:
    from typing import Protocol

    class Table(Protocol):
        """Of a DataFrame what is used here."""

        def to_csv(self, path: Any, /, **options: Any) -> Any: ...

    Content = Union[bytes, str, "os.PathLike[str]", Dict[str, Any], List[Any], Table, Any]  # the last: an array of NumPy

    Input = Union[str, bytes, "os.PathLike[str]", IO[Any]]

_LONGEST = 255  # bytes of a name (limits.h(0))
_SUFFIXES = {"python": ".py", "r": ".R", "julia": ".jl", "sh": ".sh"}  # by which scidex-oci knows what runs a script


@contextlib.contextmanager
def content(fields: Mapping[str, Any], code: Optional[str], files: Optional[Mapping[str, Content]],
            language: Optional[str] = None) -> Iterator[Mapping[str, Any]]:
    """The fields with code and files in them, while these are there."""
    _check(fields, code, files)
    _check_language(code, language)
    if code is None and not files:
        yield fields
        return
    with _directory() as directory:
        more: Dict[str, Any] = {}
        if code is not None:
            more["script"] = os.path.join(directory, "analysis" + _SUFFIXES[language or "python"])
            _write(more["script"], code.encode())
        if files:
            more["stage"] = os.path.join(directory, "files")
            for name, value in files.items():
                _put(os.path.join(more["stage"], name), name, value)
        yield {**fields, **more}


@contextlib.contextmanager
def standard_input(given: Optional[Input]) -> Iterator[Union[bytes, int, None]]:
    """What a command gets as its standard input: bytes, or the descriptor of an open file."""
    held: Any = given  # of any type; isinstance would make what is in it unknown
    if given is None:
        yield None
    elif isinstance(given, (bytes, bytearray)):
        yield bytes(held)
    elif isinstance(given, str):
        yield given.encode()
    elif isinstance(given, os.PathLike):
        with open(held, "rb") as file:
            yield file.fileno()
    elif hasattr(held, "read"):
        yield _descriptor(held)
    else:
        raise TypeError(f"stdin is text, bytes, the path of a file (pathlib.Path) or an open file, not {_short(given)}")


def _descriptor(file: Any) -> Union[bytes, int]:
    """The descriptor of a file that holds what is read from it, or else the rest: the one below gzip.open holds compressed bytes."""
    plain: Any = file
    for name in ("file", "buffer", "raw"):  # what tempfile, text and a buffer have below them
        plain = getattr(plain, name, plain)
    if isinstance(plain, io.FileIO):
        return plain.fileno()
    rest: Any = file.read()
    return rest.encode() if isinstance(rest, str) else bytes(rest)


@contextlib.contextmanager
def _directory() -> Iterator[str]:
    """A directory with a lock (flock(2)) and a mark, the sticky bit, as runner/host/lockdir has them."""
    made, lock = _made()
    try:
        os.chmod(made.name, 0o1700)
        yield made.name
    finally:
        made.cleanup()
        os.close(lock)


def _made() -> "tuple[tempfile.TemporaryDirectory[str], int]":
    while True:
        made = tempfile.TemporaryDirectory(prefix="scidex-content-")  # pylint: disable=consider-using-with
        lock = _lock(made.name)
        if lock is not None:
            return made, lock


def _lock(directory: str) -> Optional[int]:
    """Locks a new directory, unless another process has taken it for a leftover."""
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with contextlib.suppress(OSError):  # a file system without such locks: nothing removes it
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
    if os.path.exists(directory):
        return fd
    os.close(fd)
    return None


def _check(fields: Mapping[str, Any], code: Any, files: Any) -> None:
    if code is not None:
        if not isinstance(code, str):
            raise TypeError(f"code is the text of a script of Python, not {_short(code)}")
        if fields.get("script") is not None or fields.get("command") is not None:
            raise TypeError("both code and a script or command; give one")
    if files is None:
        return
    named: Any = files
    if not isinstance(files, Mapping):
        raise TypeError(f'files is a mapping of names to contents, such as {{"data.csv": "a,b"}}, not {_short(files)}')
    if files and fields.get("stage") is not None:
        raise TypeError(f"both files and stage, {fields['stage']!r}, which is a directory of them; give one")
    for name, value in named.items():
        _check_name(name, named)
        _check_value(name, value)


def _check_language(code: Any, language: Any) -> None:
    if language is None:
        return
    if code is None:
        raise TypeError(f"language is that of code, and there is none; a script's name says what runs it, not language={language!r}")
    if language not in _SUFFIXES:
        raise ValueError(f"language {_short(language)}: it is one of {', '.join(map(repr, _SUFFIXES))}; for another one begin the code with a line such as #!/bin/bash")


def _check_value(name: str, value: Any) -> None:
    given: Any = value  # as it is, whatever it turns out to be
    if isinstance(value, os.PathLike):
        if not os.path.exists(given):
            raise ValueError(f"files[{name!r}]: there is no {os.fspath(given)!r}")
    elif isinstance(value, (dict, list)):
        if not name.endswith(".json"):
            raise TypeError(f"files[{name!r}]: a {type(given).__name__} is written as JSON: give it a name that ends in .json")
        try:
            json.dumps(given)
        except (TypeError, ValueError) as error:
            raise TypeError(f"files[{name!r}] cannot be written as JSON: {error}") from None
    elif _is_array(value):
        if not name.endswith(".npy"):
            raise TypeError(f"files[{name!r}]: an array is written as numpy.save does: give it a name that ends in .npy")
    elif not isinstance(value, (bytes, bytearray, str)) and not hasattr(value, "to_csv"):
        raise TypeError(f"files[{name!r}]: a file holds bytes, text, a path, a dict or list, an array or a DataFrame, not {_short(value)}")


def _is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy, which only those who have one have imported."""
    return type(value).__module__ == "numpy" and type(value).__name__ == "ndarray"


def _check_name(name: Any, files: Mapping[Any, Any]) -> None:
    parts = name.split("/") if isinstance(name, str) else []
    if not parts or any(part in ("", ".", "..") or "\0" in part or len(os.fsencode(part)) > _LONGEST for part in parts):
        raise ValueError(f'files[{_short(name)}]: a name is a relative path such as "data.csv" or "tables/a.csv", without "..", '
                         f"with at most {_LONGEST} bytes a part")
    above = ["/".join(parts[:i]) for i in range(1, len(parts))]
    if any(one in files for one in above):
        raise ValueError(f"files[{name!r}]: {above[-1]!r} is a file, and cannot be a directory too")


def _put(path: str, name: str, value: Any) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if isinstance(value, (bytes, bytearray)):
        _write(path, value)
    elif isinstance(value, str):
        _write(path, value.encode())
    elif isinstance(value, os.PathLike):
        _copy(value, path)
    elif isinstance(value, (dict, list)):
        _write(path, json.dumps(value).encode())
    elif _is_array(value):
        importlib.import_module("numpy").save(path, value, allow_pickle=False)  # the caller has imported it
    elif name.endswith(".parquet"):
        value.to_parquet(path)
    else:
        # An index that only counts the rows would be a column without a name.
        counts = type(getattr(value, "index", None)).__name__ == "RangeIndex"
        value.to_csv(path, **({"index": False} if counts else {}))


def _copy(source: Any, path: str) -> None:
    """Copies a file, or a directory with the files below it."""
    if os.path.isdir(source):
        shutil.copytree(source, path, symlinks=True)
    else:
        shutil.copyfile(source, path)


def _write(path: str, data: "Union[bytes, bytearray]") -> None:
    with open(path, "xb") as file:
        file.write(data)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
