"""The records of an output: CSV, TSV, a JSON object, an array of objects, or JSON lines. Parquet takes pandas."""

from __future__ import annotations

import csv
import importlib
import io
import json
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence

Row = Dict[str, Any]

MAX_COLUMNS = 1000  # of an output: a name for each record would take memory for its square
MAX_JOINED = 4000  # of the outputs of many runs

_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]{0,17})(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?|[+-]?(nan|inf)", re.IGNORECASE)
_TRUTH = {"true": True, "True": True, "false": False, "False": False}
_LONGEST_NUMBER = 60  # characters


def pandas(otherwise: str) -> Any:
    """The package, or ImportError with what to do without it."""
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError(f"a DataFrame needs pandas: install it for this Python (pip install pandas, in Debian python3-pandas); {otherwise}",
                          name="pandas") from error


def records(name: str, data: bytes) -> List[Row]:
    """The records of an output by the end of its name. Raises ValueError."""
    kind = _kind(name)
    if kind == "parquet":
        raise ValueError(f"{name!r}: only pandas reads Parquet: use dataframe()")
    try:
        found = _READERS[kind](data)
        columns_of(found)
        return found
    except RecursionError:
        raise ValueError(f"{name!r} cannot be read: it is nested too deeply") from None
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{name!r} cannot be read: {error}") from error


def dataframe(name: str, data: bytes, options: Mapping[str, Any]) -> Any:
    """An output as a DataFrame; options are those of read_csv or read_parquet."""
    kind, pd = _kind(name), pandas("table() has the records without it")
    if kind == "csv":
        return pd.read_csv(io.BytesIO(data), **options)
    if kind == "tsv":
        return pd.read_csv(io.BytesIO(data), **{"sep": "\t", **options})
    if kind == "parquet":
        return pd.read_parquet(io.BytesIO(data), **options)
    if options:
        raise TypeError(f"{name!r}: JSON is read without options, not with {', '.join(options)}")
    return pd.DataFrame(records(name, data))


_KINDS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


def _kind(name: str) -> str:
    for end, kind in _KINDS.items():
        if name.lower().endswith(end):
            return kind
    raise ValueError(f"{name!r} is no table by its name: it must end in {', '.join(_KINDS)}")


def _csv(data: bytes) -> List[Row]:
    return _separated(data, ",")


def _tsv(data: bytes) -> List[Row]:
    return _separated(data, "\t")


def _separated(data: bytes, delimiter: str) -> List[Row]:
    reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=delimiter, strict=True)
    none: List[str] = []
    header = _named(next(reader, none))
    lines = [_whole_line(cells, header, reader.line_num) for cells in reader if cells]
    columns = [typed([cells[i] for cells in lines]) for i in range(len(header))]
    return [{name: columns[i][number] for i, name in enumerate(header)} for number in range(len(lines))]


def _named(header: Sequence[str]) -> List[str]:
    """The names of the columns; one without a name, such as an index that pandas writes, is named by its number."""
    if len(header) > MAX_COLUMNS:
        raise ValueError(f"it has more than {MAX_COLUMNS} columns")
    names = [name or f"column{number}" for number, name in enumerate(header, 1)]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two of its columns are named {name!r}")
    return names


def _whole_line(cells: List[str], header: Sequence[str], number: int) -> List[str]:
    if len(cells) != len(header):
        raise ValueError(f"line {number} has {len(cells)} cells, the header {len(header)}")
    return cells


def typed(cells: Sequence[str]) -> List[Any]:
    """Numbers, or True and False, where all cells of a column are; None where one is empty, or NA among numbers."""
    given = {cell for cell in cells if cell}
    numbers = given - {"NA"}
    if numbers and all(map(_WHOLE.fullmatch, numbers)):
        return [int(cell) if cell in numbers else None for cell in cells]
    if numbers and all(len(cell) <= _LONGEST_NUMBER and _NUMBER.fullmatch(cell) for cell in numbers):
        return [float(cell) if cell in numbers else None for cell in cells]
    if all(cell in _TRUTH for cell in given):
        return [_TRUTH.get(cell) for cell in cells]
    return [cell or None for cell in cells]


def _json(data: bytes) -> List[Row]:
    value: Any = json.loads(data)  # isinstance would make what is in it of an unknown type
    many: List[Any] = value
    return [_object(item) for item in many] if isinstance(value, list) else [_object(value)]


def _json_lines(data: bytes) -> List[Row]:
    return [_object(json.loads(line)) for line in data.split(b"\n") if line.strip()]


def _object(value: Any) -> Row:
    found: Row = value
    if not isinstance(value, dict):
        raise ValueError("it must be an object, an array of objects, or an object a line")
    return found


_READERS: Dict[str, Callable[[bytes], List[Row]]] = {"csv": _csv, "tsv": _tsv, "json": _json, "jsonl": _json_lines}


def columns_of(rows: Iterable[Mapping[str, Any]], known: Optional[Sequence[str]] = None, most: int = MAX_COLUMNS) -> List[str]:
    """The names of all columns, in the order in which they come. Raises ValueError if there are too many."""
    found = dict.fromkeys(known or ())
    for row in rows:
        found.update(dict.fromkeys(row))
        if len(found) > most:
            raise ValueError(f"there would be more than {most} columns")
    return list(found)
