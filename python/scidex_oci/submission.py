"""enqueue: an analysis into the queue of workers, in a transaction of the caller's own; wait: what came of it."""

from __future__ import annotations

import inspect
import json
import os
import re
import time
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Union

from .errors import CommandError
from .manifest import Manifest, check_names, encode, new_id
from .result import Result, Status
from .running import finish
from .tool import LAST, Tool

if TYPE_CHECKING:
    from typing import Protocol

    from typing_extensions import Unpack

    class Cursor(Protocol):
        """Of a DB-API 2 cursor what is used here."""

        def execute(self, operation: Any, parameters: Any, /) -> Any: ...
        def close(self) -> Any: ...

    class Connection(Protocol):
        """Of a DB-API 2 connection what is used here."""

        def cursor(self) -> Any: ...

_SUBMIT = "SELECT scidex_oci.submit(%s::jsonb, %s::integer)"


def enqueue(database: Union[Connection, Cursor], *, retries: Optional[int] = None, **fields: Unpack[Manifest]) -> str:
    """Puts an analysis into the queue in the caller's transaction, and returns its id.

    ``database`` is a connection to the catalog's PostgreSQL, or a cursor of one, of psycopg, psycopg2 or another DB-API 2
    driver that takes ``%s``. Nothing is committed here: with the caller's commit the analysis is queued, without it there is
    none. ``fields`` are those of ``run`` except ``export``. Relative paths start at Python's own directory, and are the same for
    every worker. Without ``data`` and ``docs`` the analysis has none. ``retries`` attempts may follow one that ends in an error of
    scidex-oci or a host, by default 3.

    Raises TypeError and ValueError for arguments that cannot be a request; the driver's own exception for an id that is not allowed
    (SQLSTATE 22023) or taken (23505), and without tables of the queue (55000). What only a worker can find out ends the analysis
    as an error.
    """
    request = _request(fields)
    parameters = (json.dumps(request, allow_nan=False), retries)
    given: Any = database
    if not hasattr(given, "cursor"):
        _execute(given, parameters)
        return str(request["id"])
    cursor: Any = given.cursor()
    try:
        _execute(cursor, parameters)
    finally:
        closed = cursor.close()
        if inspect.iscoroutine(closed):
            closed.close()
    return str(request["id"])


def _execute(cursor: Any, parameters: Any) -> None:
    executed = cursor.execute(_SUBMIT, parameters)
    if inspect.iscoroutine(executed):
        executed.close()
        raise TypeError("an asynchronous connection is not taken; call scidex_oci.submit(request) by SQL, or enqueue in a thread")


def wait(run_id: str, *, check: bool = False, timeout: Optional[float] = None, tool: Optional[Tool] = None) -> Result:
    """The result of an analysis, once it has ended: also of one that is queued, wherever a worker runs it.

    ``ID`` is the analysis with all its attempts, ``ID@ATTEMPT`` one of them, and ``@last`` the attempt that was made last. With ``check``, a result that is not complete is
    raised, as by ``run``. Raises NotFound, and TimeoutError after ``timeout`` seconds, while the analysis goes on.
    """
    tool = tool or Tool()
    if run_id == LAST:
        run_id = tool.show(run_id).run_id
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        result = tool.show(run_id, wait=True, timeout=None if until is None else max(0.0, until - time.monotonic()))
        if run_id == result.run_id or result.state not in (Status.ERROR, Status.LOST, Status.CANCELED):
            break
        through = _through(result.id, tool)  # before the look: what the queue has made of it is there then
        if tool.show(run_id).run_id == result.run_id:
            if through:
                break
            if until is not None and time.monotonic() > until:
                raise TimeoutError(f"{run_id} has not ended in time, and its next attempt is still to come")
            time.sleep(_PAUSE)  # the job comes again, and the next attempt with it
    return finish(result, check)


_PAUSE = 1.0  # seconds

# What scidex-oci says of an analysis that has no job, and of a catalog without a queue.
_NO_JOB = re.compile(r" was not submitted, or the queue is through with it|\Athe queue is in PostgreSQL, and this catalog is a SQLite file")


def _through(analysis: str, tool: Tool) -> bool:
    """Whether the queue does nothing more of an analysis."""
    try:
        return bool(json.loads(tool.call("queue", "show", "--json", "--", analysis))["state"] == "ended")
    except CommandError as error:
        if _NO_JOB.search(str(error)):
            return True
        raise


_PATHS = ("script", "data", "docs", "project", "stage")


def _request(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """The manifest as the queue takes it: each field of its one type, with absolute paths and an id."""
    check_names(fields, "enqueue()", ("retries",))
    if fields.get("export") is not None:
        raise ValueError("a worker exports nothing: take the outputs from the result, or by Result.export")
    request: Dict[str, Any] = json.loads(encode(fields))
    for name in _PATHS:
        if name in request and request[name] != "none":
            request[name] = _absolute(name, request[name])
    for name in ("id", "rootfs", "runtime"):
        if name in request:
            request[name] = _text(name, request[name])
    if request.get("rootfs", "").startswith("."):
        request["rootfs"] = _absolute("rootfs", request["rootfs"])
    if "/" in request.get("runtime", ""):
        request["runtime"] = _absolute("runtime", request["runtime"])
    elif request.get("runtime", "none") != "none":
        raise ValueError(f"runtime {request['runtime']!r} is a name of a config file, which only scidex-oci reads: give its directory")
    for name in ("command", "args", "inputs", "secrets", "outputs", "exclude"):
        if name in request:
            request[name] = _texts(name, request[name])
    if "inputs" in request:
        request["inputs"] = [_source(source) for source in request["inputs"]]
    for name in ("labels", "env"):
        if name in request:
            request[name] = _dictionary(name, request[name])
    request.setdefault("id", new_id())
    return request


def _source(text: str) -> str:
    """An input, "SRC" or "SRC:DST". A blob is the same everywhere, unless it is named by the directory of its store."""
    if text.startswith(("sha256:", "s3://")):
        return text
    scheme = "file://" if text.startswith("file://") else ""
    return scheme + _absolute("inputs", text[len(scheme) :])


def _absolute(name: str, value: Any) -> str:
    path = _text(name, value)
    return os.path.join(os.getcwd(), path) if path else path


def _text(name: str, value: Any) -> str:
    """A text as a manifest would have it."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return json.dumps(value)
    raise TypeError(f"{name}: {value!r} is not text")


def _texts(name: str, value: Any) -> List[str]:
    items: Any = value
    if not isinstance(value, list):
        raise TypeError(f"{name}: {value!r} is not a list")
    return [_text(name, item) for item in items]


def _dictionary(name: str, value: Any) -> Dict[str, str]:
    pairs: Any = value
    if not isinstance(value, dict):
        raise TypeError(f"{name}: {value!r} is not a mapping")
    return {key: _text(f"{name} {key}", item) for key, item in pairs.items()}
