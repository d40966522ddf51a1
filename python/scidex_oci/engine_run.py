"""Requests of an engine and what their answers mean: results, and the exceptions that a command would have raised."""

from __future__ import annotations

import base64
import codecs
from concurrent.futures import TimeoutError as NotInTime
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple

from .channel import CANCELED, Answer, Job, NotServing, Note
from .engines import ask
from .errors import CommandError, EngineLost, NotFound
from .manifest import new_id, plain
from .result import Result

if TYPE_CHECKING:
    from .tool import Tool

_INVALID, _NOT_FOUND = -32602, -32001
_SMALL = 1 << 19  # bytes of an output that one answer has


class EngineRun:
    """A run that an engine was asked for."""

    def __init__(self, tool: Tool, fields: Mapping[str, Any], note: Optional[Note] = None) -> None:
        params = plain(fields)
        self._tool = tool
        self._named = str(params.get("id") or "")
        params["id"] = params.get("id") or new_id()
        self.id = params["id"]
        self.job = ask(tool, "run", {**params, **({"events": True} if note else {})}, note)
        self._stops = 0

    def stop(self) -> None:
        """Ends the run with its grace; called again, at once."""
        self._stops += 1
        if self.job is None:
            return
        if self._stops > 1 and self.job.channel is not None:
            self.job.channel.send(Job("stop", {"id": self.id, "now": True}))
        self.job.cancel()

    def served(self) -> bool:
        """Whether there is an answer; else a command is to be called in its place."""
        return self.job is not None and not isinstance(self.job.answer.exception(), NotServing)

    def wait(self) -> None:
        """Waits for the answer. What is raised meanwhile, KeyboardInterrupt above all, ends the run first."""
        if self.job is None:
            return
        raised: Optional[BaseException] = None
        heard = passed_on = 0
        while True:
            try:
                while passed_on < heard:
                    self.stop()
                    passed_on += 1
                self.job.answer.exception()
                break
            except BaseException as error:  # pylint: disable=broad-except # it is raised after the end
                raised, heard = raised or error, heard + 1
        if raised is not None:
            raise raised

    def result(self) -> Result:
        """The result, once there is an answer."""
        assert self.job is not None
        answer = self.job.answer.result()
        raw: Optional[Dict[str, Any]] = answer.get("result")
        if raw is None:
            raw = self._without_run(answer["error"])
        return Result.from_json(raw, self._tool)

    def _without_run(self, error: Mapping[str, Any]) -> Dict[str, Any]:
        """What ``run --json`` prints for an analysis that became no run."""
        refused = error.get("data", {}).get("result")
        if refused is not None:
            raw: Dict[str, Any] = dict(refused)
            if not raw.get("attempt"):
                raw["id"] = self._named  # the other is known to no one
            return raw
        message = error["message"]
        message = message[len("params: ") :] if message.startswith("params: ") else message
        if error["code"] == CANCELED:
            return _ended("canceled", "stopped", "stopped before it started", 143, self._named)
        if error["code"] == _INVALID:
            return _ended("error", "request", message, 125, self._named)
        raise CommandError(message, self._tool.argv("serve"))


def _ended(state: str, reason: str, message: str, code: int, name: str) -> Dict[str, Any]:
    return {"v": 1, "id": name, "attempt": 0, "state": state, "reason": reason, "message": message, "exit_code": code}


def ask_show(tool: Tool, run_id: str, wait: bool) -> Optional[Job]:
    """Asks for the result of a run; with ``wait``, for that which it has ended with."""
    return ask(tool, "wait" if wait else "show", {"id": run_id})


def shown(tool: Tool, run_id: str, job: Optional[Job], timeout: Optional[float] = None) -> Optional[Result]:
    """The result that was asked for, or None where a command is to be asked. Raises NotFound and TimeoutError."""
    answer = None if job is None else answered(job, timeout)
    if answer is None:
        return None
    if answer.get("error", {}).get("code") == _NOT_FOUND:
        raise NotFound(answer["error"]["message"], tool.argv("show", "--json", "--", run_id))
    return Result.from_json(answer["result"], tool) if "result" in answer else None


def answered(job: Job, timeout: Optional[float] = None) -> Optional[Answer]:
    """The answer to a request that changes nothing, or None where a command is to be asked in its place."""
    try:
        return job.answer.result(timeout)
    except (NotServing, EngineLost):
        return None
    except NotInTime:
        job.cancel()
        raise TimeoutError from None
    except BaseException:
        job.cancel()
        raise


class AskedLogs:
    """What a run has written so far, from the parts in which an engine sends it."""

    def __init__(self, tool: Tool, run_id: str) -> None:
        self._streams = {"stdout": bytearray(), "stderr": bytearray()}
        self.job = ask(tool, "logs", {"id": run_id}, self._take)

    def _take(self, note: Dict[str, Any]) -> None:
        part = base64.b64decode(note["base64"]) if "base64" in note else note.get("text", "").encode()
        self._streams[note["stream"]] += part

    def come(self) -> bool:
        """Waits for the last part; False: a command is to be asked."""
        answer = None if self.job is None else answered(self.job)
        return answer is not None and "result" in answer

    def logs(self) -> Tuple[bytes, bytes]:
        """Standard output and standard error."""
        return bytes(self._streams["stdout"]), bytes(self._streams["stderr"])


def read(tool: Tool, run_id: str, path: str, size: Optional[int]) -> Optional[bytes]:
    """A small output, or None where a command is to be asked."""
    if size is None or size > _SMALL or not _is_text(path):
        return None
    job = ask(tool, "read", {"id": run_id, "path": path})
    answer = None if job is None else answered(job)
    if answer is None or answer.get("result", {}).get("size") != size:
        return None
    return base64.b64decode(answer["result"]["base64"])


def _is_text(path: str) -> bool:
    """Whether it is UTF-8, and so listed as it is."""
    try:
        codecs.encode(path, "utf-8")
    except UnicodeEncodeError:
        return False
    return path.isprintable()
