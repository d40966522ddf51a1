"""HTML for notebooks.

Names, messages and contents are those of unreviewed analyses: all text is escaped, without characters that cannot be seen, and cut. There is no
script, no style and no link, and what is shown is bounded.
"""

from __future__ import annotations

import html
import itertools
from typing import Any, Iterable, List, Sequence

MAX_TEXT = 200  # characters of a text
MAX_CELL = 80  # of a cell
MAX_ROWS = 50
MAX_COLUMNS = 30
MAX_LINES = 20  # of a log
MAX_LOG = 8192  # bytes of a log

# MathJax, where a notebook has it, leaves out elements of these classes, and code: a formula may have a link.
_BLOCK = '<div class="tex2jax_ignore mathjax_ignore">{}</div>'


def block(parts: Iterable[str]) -> str:
    """Elements, as what a notebook shows of an object."""
    return _BLOCK.format("".join(parts))


def paragraph(*parts: str) -> str:
    """Elements in a paragraph."""
    return f"<p>{' '.join(part for part in parts if part)}</p>"


def text(value: Any, most: int = MAX_TEXT) -> str:
    """A text on one line, as an element."""
    return f"<code>{html.escape(visible(value, most))}</code>"


def log(name: str, data: bytes) -> str:
    """The last lines of what was written, each cut."""
    lines = data[-MAX_LOG:].decode(errors="replace").splitlines()[-MAX_LINES:]
    shown = "\n".join(html.escape(visible(line, MAX_TEXT)) for line in lines)
    return f"<p>{html.escape(name)}</p><pre>{shown}</pre>" if lines else ""


def strong(value: Any) -> str:
    """A word that stands out."""
    return f"<b>{html.escape(visible(value, MAX_TEXT))}</b>"


def visible(value: Any, most: int) -> str:
    """A text on one line, cut, in which each character can be seen: control characters and those that turn the direction are escaped."""
    given = value if isinstance(value, str) else _number(value)
    cut = given if len(given) <= most else given[: most - 1] + "…"
    return "".join(map(_shown, cut))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character in "\n\t" else character.encode("unicode_escape").decode()


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def grid(columns: Sequence[str], rows: Iterable[Sequence[Any]], total: int) -> str:
    """A table with its first rows and columns, and how many of total there are."""
    shown = columns[:MAX_COLUMNS]
    head = "".join(f"<th>{text(name, MAX_CELL)}</th>" for name in shown)
    body = "".join(f"<tr>{_cells(row[:MAX_COLUMNS])}</tr>" for row in itertools.islice(rows, MAX_ROWS))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{_rest(len(columns), total)}"


def _cells(row: Sequence[Any]) -> str:
    return "".join(f"<td>{text(value, MAX_CELL)}</td>" for value in row)


def _rest(columns: int, rows: int) -> str:
    more: List[str] = []
    if rows > MAX_ROWS:
        more.append(f"{MAX_ROWS} of {rows} rows")
    if columns > MAX_COLUMNS:
        more.append(f"{MAX_COLUMNS} of {columns} columns")
    return paragraph(", ".join(more)) if more else ""
