"""SciDEX' helpers: a directory of an analysis, a script that is run on it, and its removal.

The directory is the caller's. The analysis never has it: what it holds is copied into the container before the start
(``stage``), and the outputs are copied back after their commit (``export``). ``/tmp/scidex-analysis-ID``, where the
analysis works, is made and removed by scidex-oci itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Optional, Union

from .errors import ScidexError
from .manifest import check_names
from .result import Result
from .running import run
from .tool import OnOutput, Tool

if TYPE_CHECKING:
    from .tool import StrPath

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class StagingError(ScidexError):
    """A staging directory is not what create_analysis_temp_dir has made, and is left alone."""


def create_analysis_temp_dir(analysis_id: str) -> Path:
    """Makes a private directory for an analysis, or returns the one that was made before.

    It is in ``$SCIDEX_OCI_STAGING``, by default ``scidex-staging-UID`` in the directory for temporary files. What is
    put into it before ``run_python_script`` is in the analysis' working directory.
    """
    _check(analysis_id)
    with _base() as base:
        try:
            os.mkdir(analysis_id, 0o700, dir_fd=base.fd)
        except FileExistsError:
            with _made(base, analysis_id):
                pass
        else:
            base.note(analysis_id)
        return base.path / analysis_id


def cleanup_analysis_temp_dir(analysis_id: str) -> None:
    """Removes the directory of an analysis with all that is in it; without one there is nothing to do.

    Only what create_analysis_temp_dir has made is removed, told by device and inode, and no symbolic link is followed.
    Raises StagingError if something else is in its place.
    """
    _check(analysis_id)
    with _base() as base:
        try:
            with _made(base, analysis_id) as fd:
                _empty(fd)
        except FileNotFoundError:
            return
        os.rmdir(analysis_id, dir_fd=base.fd)
        os.unlink(_note(analysis_id), dir_fd=base.fd)


def run_python_script(analysis_id: str, script: StrPath, timeout_seconds: Union[int, float, timedelta] = 1800, *,
                      check: bool = False, on_output: Optional[OnOutput] = None, tool: Optional[Tool] = None,
                      **fields: Any) -> Result:
    """Runs a script, a file, on the directory of an analysis, which then has its outputs and ``scidex-result.json``.

    The directory is made if there is none, and stays until ``cleanup_analysis_temp_dir``. The result's
    ``completion_notes`` say why a run ended. ``fields`` are further fields of the manifest.
    """
    check_names(fields, "run_python_script()", ("timeout_seconds", "check", "on_output", "tool"))
    directory = os.fspath(create_analysis_temp_dir(analysis_id))
    fields.update(id=analysis_id, script=script, timeout=timeout_seconds, stage=directory, export=directory)
    return run(check=check, overwrite=True, on_output=on_output, tool=tool, **fields)


class _Base:
    """The directory of all staging directories of this user."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path, self.fd = path, fd

    def note(self, name: str) -> None:
        """Writes down which directory was made."""
        made = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(_note(name), flags, 0o600, dir_fd=self.fd), "w", encoding="ascii") as file:
            file.write(_identity(made))

    def noted(self, name: str) -> str:
        """What note has written, or nothing."""
        try:
            with open(os.open(_note(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.fd),
                      encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return ""


def _note(name: str) -> str:
    return f".{name}.made"  # no id begins with a dot


def _identity(made: os.stat_result) -> str:
    return f"{made.st_dev}:{made.st_ino}"


def _check(analysis_id: Any) -> None:
    if not isinstance(analysis_id, str) or not _ID.match(analysis_id):
        raise ValueError(f"id {analysis_id!r} is not allowed: it must be 1 to 128 letters, digits, '.', '_' or '-', and begin "
                         "with a letter or digit")


@contextlib.contextmanager
def _base() -> Iterator[_Base]:
    """The base, locked: other processes of this user make and remove directories too."""
    default = os.path.join(tempfile.gettempdir(), f"scidex-staging-{os.getuid()}")
    path = Path(os.path.abspath(os.environ.get("SCIDEX_OCI_STAGING") or default))
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    try:
        fd = os.open(path, _DIRECTORY)
    except OSError as error:
        raise StagingError(f"{path} is no directory ({error.strerror}); remove it, or set SCIDEX_OCI_STAGING") from error
    try:
        found = os.fstat(fd)
        if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise StagingError(f"{path} is open to others: give only yourself rights to it (chmod 700), or set SCIDEX_OCI_STAGING")
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield _Base(path, fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def _made(base: _Base, name: str) -> Iterator[int]:
    """A descriptor of the directory, if it is the one that was made; one that is empty may be taken over."""
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=base.fd)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _not_made(base, name) from error
    try:
        if base.noted(name) != _identity(os.fstat(fd)):
            if os.listdir(fd):
                raise _not_made(base, name)
            base.note(name)  # killed between the two, or made by hand
        yield fd
    finally:
        os.close(fd)


def _not_made(base: _Base, name: str) -> StagingError:
    return StagingError(f"{base.path / name} is not the directory that was made, and is left alone")


def _empty(fd: int) -> None:
    """Removes all that is in a directory, through descriptors."""
    with os.scandir(fd) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_directory in found:
        if not is_directory:
            os.unlink(name, dir_fd=fd)
            continue
        inner = os.open(name, _DIRECTORY, dir_fd=fd)
        try:
            _empty(inner)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=fd)
