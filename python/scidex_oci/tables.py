"""Tables: the records of an output, or of one output of many runs with their parameters."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Union, overload

from . import markup
from .errors import CommandError
from .records import MAX_JOINED, Row, columns_of, pandas, records, typed
from .result import Result

if TYPE_CHECKING:
    from .tool import StrPath

_LARGEST = 64 << 20  # bytes of an output that is joined with those of other runs

_RUN = ("id", "attempt", "state")  # the columns of every row
_USE = ("reason", "exit_code", "wall_ms", "cpu_ms", "memory_peak_bytes", "outputs")  # those where no output is joined

Values = Mapping[str, Mapping[str, Any]]  # of the parameters of a sweep: what was given, by label and its text


class Table(Sequence[Row]):
    """Rows with the same columns, each a mapping; what a row does not have is None. Notebooks show it.

    ``problems`` says of runs, by ``ID@ATTEMPT``, why the output of a complete run is not in it; ``warnings`` are those of ``Tool.table``.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], columns: Optional[Sequence[str]] = None,
                 problems: Optional[Mapping[str, str]] = None, warnings: Sequence[str] = ()) -> None:
        given = list(rows)
        self.columns = columns_of(given, columns, sys.maxsize)
        self.rows: List[Row] = [{name: row.get(name) for name in self.columns} for row in given]
        self.problems = dict(problems or {})
        self.warnings = list(warnings)

    def __repr__(self) -> str:
        return f"<Table of {len(self.rows)} rows: {', '.join(self.columns[:10])}{', ...' if len(self.columns) > 10 else ''}{self._unread()}>"

    def _unread(self) -> str:
        if not self.problems:
            return "".join(f"; {warning}" for warning in self.warnings[:1])
        run, why = next(iter(self.problems.items()))
        return f"; without {len(self.problems)} outputs, such as that of {run}: {why}"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> List[Row]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Row, List[Row]]:
        return self.rows[index]

    def column(self, name: str) -> List[Any]:
        """The values of a column. Raises KeyError."""
        if name not in self.columns:
            raise KeyError(name)
        return [row[name] for row in self.rows]

    def to_dataframe(self) -> Any:
        """The same as a DataFrame. Raises ImportError, with what to install, if there is no pandas."""
        return pandas("its rows, dicts, are there without it: list(table)").DataFrame(self.rows, columns=self.columns)

    def _repr_html_(self) -> str:
        cells = ([row[name] for name in self.columns] for row in self.rows)
        parts = [markup.grid(self.columns, cells, len(self.rows))]
        parts += [markup.paragraph("Without the output of", markup.text(run), markup.text(why)) for run, why in list(self.problems.items())[:5]]
        if len(self.problems) > 5:
            parts.append(markup.paragraph(f"and of {len(self.problems) - 5} more runs"))
        parts += [markup.paragraph(markup.text(warning)) for warning in self.warnings[:5]]
        return markup.block(parts)


def table_of(name: str, data: bytes) -> Table:
    """The records of one output. Raises ValueError."""
    return Table(records(name, data))


def table(results: Iterable[Result], path: Optional[StrPath] = None) -> Table:
    """A row for each result: id, attempt, state, the labels, and then the records of the output ``path``, a row for each of them.

    The output is CSV, TSV, a JSON object, an array of objects or JSON lines. A run without it has a row too, and if
    the run is complete ``problems`` says why. A label whose values are all numbers is a number. Without ``path`` the columns say how the runs ended and what they used.
    """
    return joined(results, path, {})


class _Part(NamedTuple):
    """What a table has of a run."""

    run: Row
    labels: Mapping[str, str]
    records: List[Row]


def joined(results: Iterable[Result], path: Optional[StrPath], values: Values) -> Table:
    """As table, with the values of parameters as they were given."""
    problems: Dict[str, str] = {}
    parts: List[_Part] = []
    columns: List[str] = []  # of the output
    for result in results:
        found: List[Row] = [_use(result)] if path is None else []
        try:
            if path is not None and result.ok:
                found = _records(result, os.fspath(path))
            columns = columns_of(found, columns, MAX_JOINED)
        except (ValueError, CommandError) as error:
            found, problems[result.run_id] = [], str(error)
        parts.append(_Part({"id": result.id, "attempt": result.attempt, "state": str(result.state)}, result.labels, found))
    return _joined(parts, columns, values, problems)


def _joined(parts: Sequence[_Part], columns: Sequence[str], values: Values, problems: Mapping[str, str]) -> Table:
    """The labels come before the output's columns, those of parameters in the order in which they were given."""
    texts: Dict[str, Dict[str, None]] = {}
    for part in parts:
        for name, text in part.labels.items():
            texts.setdefault(name, {})[text] = None
    labels = [name for name in values if name in texts] + sorted(texts.keys() - values.keys())
    given = {name: {**dict(zip(texts[name], typed(list(texts[name])))), **values.get(name, {})} for name in labels}
    label_as = {name: f"label.{name}" if name in columns or name in _RUN else name for name in labels}
    column_as = {name: f"output.{name}" if name in _RUN else name for name in columns}
    rows: List[Row] = []
    for part in parts:
        begin = {**part.run, **{label_as[name]: given[name][text] for name, text in part.labels.items()}}
        rows += [{**begin, **{column_as[name]: value for name, value in record.items()}} for record in part.records or [{}]]
    return Table(rows, [*_RUN, *label_as.values(), *column_as.values()], problems)


def _use(result: Result) -> Row:
    usage = result.usage
    return dict(zip(_USE, (result.reason, result.exit_code, usage.wall_ms, usage.cpu_ms, usage.memory_peak_bytes, result.outputs_total)))


def _records(result: Result, path: str) -> List[Row]:
    output = next((output for output in result.all_outputs() if output.path == path), None)
    if output is None:
        raise ValueError(f"it has no output {path!r}")
    if output.size > _LARGEST:
        raise ValueError(f"{path!r} has {output.size} bytes, and a table of many runs takes at most {_LARGEST} of each")
    return records(path, result.read(path))
