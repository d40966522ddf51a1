"""Sweeps: one script with all combinations of the values of its parameters."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, Mapping, Optional, Sequence, Tuple

from .batch import Batch
from .manifest import Manifest, check_names, close_name, encode, new_id
from .running import check_request, with_script
from .tool import Tool

if TYPE_CHECKING:
    from .tables import Values
    from .tool import StrPath

MAX_RUNS = 1_000_000

_LABEL = "sweep"  # has the sweep's name
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")  # of a flag and a label
_NOT_OF_ID = re.compile(r"[^A-Za-z0-9._-]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LONGEST_ID, _LONGEST_VALUE = 128, 256  # bytes
_OPTIONS = ("jobs", "resume", "rerun", "fail_fast", "max_failures", "retries", "flags")

Texts = Dict[str, Dict[str, Any]]  # what was given, by the name of a parameter and its text


class Sweep(Batch):
    """The results of one script with each combination of the values of its parameters: a Batch whose table has the values as columns.

    The run of a combination gets ``--NAME VALUE`` as arguments after those of ``args``, and labels: its values by name, and the sweep's
    ``name`` as ``sweep``. Its id is made of the name and the values, as ``scidex-oci batch --sweep`` makes it, so that the same sweep with the
    same ``name`` and ``resume=True`` runs what is left of it, and finds the results of the rest; ``rerun`` is as in Batch.
    """

    def __init__(self, parameters: Mapping[str, Iterable[Any]], fields: Mapping[str, Any], *, name: Optional[str] = None,
                 tool: Optional[Tool] = None, **options: Any) -> None:
        self.name = _name(name)
        self.parameters = _texts(parameters)
        _check_fields(fields, self.parameters)
        check_request(tool or Tool(), fields, None, (), None)
        encode(fields)  # a mistake is found before anything starts
        super().__init__(_lines(self.name, self.parameters, fields), tool=tool, **options)

    def __repr__(self) -> str:
        return f"<Sweep {self.name!r} of {', '.join(self.parameters)}: {super().__repr__()[1:-1]}>"

    def _values(self) -> Values:
        return self.parameters


def sweep(script: Optional[StrPath] = None, /, *, parameters: Optional[Mapping[str, Iterable[Any]]] = None, name: Optional[str] = None,
          jobs: Optional[int] = None, resume: bool = False, rerun: Optional[str] = None, fail_fast: bool = False,
          max_failures: Optional[int] = None, retries: int = 0, flags: Sequence[str] = (), tool: Optional[Tool] = None, **given: Any) -> Sweep:
    """Runs a script with all combinations of values, and returns the Batch of their results.

        with sweep("fit.py", seed=range(200), lr=[0.1, 0.01], memory="1GiB", jobs=4) as runs:
            frame = runs.table("metrics.csv").to_dataframe()

    A keyword that is a field of a manifest holds for every run. Any other keyword is a parameter, with one value, a list or a range of
    texts, numbers, True or False. ``parameters`` is for parameters with the name of a field or an option. The rest is as in Batch;
    Sweep says what a run gets.
    """
    fields, found = divided(given, parameters or {})
    return Sweep(found, with_script(script, fields), name=name, tool=tool, jobs=jobs, resume=resume, rerun=rerun, fail_fast=fail_fast,
                 max_failures=max_failures, retries=retries, flags=flags)


def divided(given: Mapping[str, Any], parameters: Mapping[str, Iterable[Any]]) -> Tuple[Dict[str, Any], Dict[str, Iterable[Any]]]:
    """The keywords that are fields, and the parameters."""
    fields = {name: value for name, value in given.items() if name in Manifest.__annotations__}
    found: Dict[str, Iterable[Any]] = {}
    for name, values in given.items():
        if name not in fields:
            if not _is_many(values) and close_name(name, _OPTIONS):
                check_names({name: values}, "sweep()", _OPTIONS)  # a field was meant
            found[name] = values
    both = found.keys() & parameters.keys()
    if both:
        raise TypeError(f'sweep() has "{min(both)}" as a keyword and in parameters; give one')
    return fields, {**found, **parameters}


def _is_many(values: Any) -> bool:
    return isinstance(values, Iterable) and not isinstance(values, (str, bytes, bytearray, Mapping))


def _name(name: Optional[str]) -> str:
    if name is None:
        return f"sweep-{new_id()}"
    if not _NAME.fullmatch(name):
        raise ValueError(f"name {name!r}: a sweep is named by 1 to 63 letters, digits, '.', '_' or '-', and begins with a letter or digit")
    return name


def _texts(parameters: Mapping[str, Iterable[Any]]) -> Texts:
    if not parameters:
        raise TypeError("a sweep needs a parameter with its values, such as seed=range(10)")
    found = {_parameter(name): _values_of(name, values) for name, values in parameters.items()}
    runs = math.prod(map(len, found.values()))
    if runs > MAX_RUNS:
        raise ValueError(f"a sweep has at most {MAX_RUNS} runs, and this one would have {runs}")
    return found


def _parameter(name: str) -> str:
    if name == _LABEL or not _PARAMETER.fullmatch(name):
        raise ValueError(f"{name!r} cannot name a parameter of a sweep: it becomes a flag and a label; take a letter, then at most 62 letters, digits, "
                         f"'_' or '-', and not {_LABEL!r}, which has the sweep's name")
    return name


def _values_of(name: str, values: Any) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for value in values if _is_many(values) else [values]:
        plain = value.item() if hasattr(value, "item") else value  # a number of NumPy
        text = _text(name, plain)
        if not text or _CONTROL.search(text) or len(text.encode()) > _LONGEST_VALUE:
            raise ValueError(f"{name}: the value {text[:40]!r} cannot be a label, which has 1 to {_LONGEST_VALUE} bytes without control characters")
        if text in found:
            raise ValueError(f"{name}: the value {text} is given twice")
        if len(found) == MAX_RUNS:
            raise ValueError(f"{name}: a sweep has at most {MAX_RUNS} runs, and this parameter has more values")
        found[text] = plain
    if not found:
        raise ValueError(f"{name}: there is no value")
    return found


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"{name}: a value of a parameter is text, a number, True or False, not {value!r}")


def _check_fields(fields: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
    check_names(fields, "sweep()", _OPTIONS)
    if fields.get("id") is not None:
        raise TypeError("each run of a sweep has an id of its own; give the sweep a name")
    if fields.get("export") is not None:
        raise TypeError("the runs of a sweep cannot share the directory of export; call result.export, or join an output by table()")
    both = {_LABEL, *parameters} & set(fields.get("labels") or {})
    if both:
        raise ValueError(f'labels: "{min(both)}" is a label of the sweep itself')


def _lines(name: str, parameters: Texts, fields: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
    command = "args" if fields.get("command") is None else "command"
    before: Sequence[Any] = fields.get(command) or ()
    labels: Mapping[str, Any] = fields.get("labels") or {}
    for texts in itertools.product(*parameters.values()):
        values = dict(zip(parameters, texts))
        more = [word for parameter, text in values.items() for word in (f"--{parameter}", text)]
        yield {**fields, "id": _id(name, values), command: [*before, *more], "labels": {**labels, _LABEL: name, **values}}


def _id(name: str, values: Mapping[str, str]) -> str:
    """As ``scidex-oci batch --sweep`` makes it: the same for the same values, in any order."""
    pairs = sorted(values.items())
    read = "".join(f"-{parameter}{_NOT_OF_ID.sub('_', text)}" for parameter, text in pairs)
    raw = json.dumps([{"Name": parameter, "Value": text} for parameter, text in pairs], ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        raw = raw.replace(character, f"\\u{ord(character):04x}")
    digest = "-" + hashlib.sha256(raw.encode()).hexdigest()[:12]
    return name + read[: _LONGEST_ID - len(name) - len(digest)] + digest
