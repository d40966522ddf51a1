"""Hints and refusals as Python says them: scidex-oci names the flags of its command line."""

from __future__ import annotations

import json
import re
import shlex
from typing import List, Optional

from .manifest import LISTS, Manifest

_FLAG = re.compile(r"""--([a-z]+(?:-[a-z]+)*)(?: ('(?:[^']|'\\'')*'|"(?:[^"\\]|\\.)*"|(?:[^\s,;:()]|:(?=\S))+))?""")
_COMMAND = re.compile(r"(?<!\S)-- (\w+ -c (?:'(?:[^']|'\\'')*'|\S+))")
_PLACE_OR_NUMBER = re.compile(r"[A-Z]+|[0-9]+(\.[0-9]+)?")
_NO_VALUE = ("allows", "and", "are", "does", "for", "has", "in", "is", "of", "or", "out", "to", "which", "with")  # words that go on with the sentence
_PLACE_OF_ARGUMENTS = re.compile(": (?:add|put) ")
_ARGUMENTS = "give what it lacks in args, or at the end of command"


def in_keywords(code: str, message: str) -> str:
    """The message of a hint, or of a refusal, with keywords of run instead of flags: ``memory=SIZE`` for ``--memory SIZE``."""
    if code == "arguments_missing":
        return f"{_PLACE_OF_ARGUMENTS.split(message)[0]}: {_ARGUMENTS}"
    if code == "no_input":
        message = message.replace("pass a file or a pipe; a terminal is not passed on", "give it as stdin")
    return _FLAG.sub(_keyword, _COMMAND.sub(_list, message))


def _list(found: re.Match[str]) -> str:
    words = _split(found[1])
    return found[0] if words is None else f"command={json.dumps(words, ensure_ascii=False)}"


def _split(text: str) -> Optional[List[str]]:
    """The words of a shell; None if the text is none, as with a quotation mark in a name."""
    try:
        return shlex.split(text)
    except ValueError:
        return None


def _keyword(found: re.Match[str]) -> str:
    name, value = found[1].replace("-", "_"), found[2]
    if name == "overwrite":
        return f"{name}=True" if value is None else f"{name}=True {value}"
    if name + "s" in Manifest.__annotations__:
        name += "s"
    if name not in Manifest.__annotations__:
        return found[0]  # of a command that a person types
    if value is None or value in _NO_VALUE:
        return name if value is None else f"{name} {value}"
    if name == "env" and "=" in value:
        key, _, text = value.partition("=")
        return f"env={{{json.dumps(key)}: {json.dumps(text)}}}"
    plain = value
    if not _PLACE_OR_NUMBER.fullmatch(value) and not value.startswith('"'):
        words = _split(value)
        if words is None:
            return found[0]
        plain = json.dumps(" ".join(words), ensure_ascii=False)
    return f"{name}=[{plain}]" if name in LISTS else f"{name}={plain}"
