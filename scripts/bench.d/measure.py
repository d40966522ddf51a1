"""Takes measurements in turns, and writes them as a table of medians and their ratios."""

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

MIB = 1 << 20


class Failed(Exception):
    """A command that must succeed did not."""


class Figure(NamedTuple):
    """One row: the median of one way, and its ratio to the median of a peer."""

    what: str
    ours: str
    peer: str = ""
    unit: str = "s"  # "s", "/s" or "MiB"


class Line(NamedTuple):
    """What scripts/bench measures by one name."""

    figures: tuple
    measure: Callable  # (bench, samples); growth prints its own tables, and adds no samples


class Taken(NamedTuple):
    seconds: float
    cpu: float  # seconds, of the command and of all it waited for
    output: str


class Samples:
    """The values of each way, and why a way has none."""

    def __init__(self):
        self.values = defaultdict(list)
        self.missing = {}

    def turns(self, rounds, ways):
        """Add a value of each way in every round. Another way is the first in each round."""
        names = list(ways)
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}")
            first = number % len(names)
            for name in names[first:] + names[:first]:
                self.values[name].append(ways[name]())


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def take(command, stdin=os.devnull):
    """Run a command that must succeed, and return what it took and printed."""
    with tempfile.TemporaryFile() as printed, open(stdin) as source:
        begin = time.monotonic()
        try:
            child = subprocess.Popen(command, stdin=source, stdout=printed, stderr=subprocess.STDOUT)
        except OSError as why:
            raise Failed(str(why)) from why
        _, status, usage = waited(child)
        seconds = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        output = printed.read().decode(errors="replace")
    if child.returncode:
        raise Failed(f"{shlex.join(command)}: exit {child.returncode}: {' '.join(output.splitlines()[-3:])}")
    return Taken(seconds, usage.ru_utime + usage.ru_stime, output)


def waited(child):
    """Wait for a child, which is not left behind when a signal ends this process."""
    try:
        return os.wait4(child.pid, 0)
    except BaseException:
        child.terminate()
        child.wait()
        raise


def amount(value, unit):
    if unit == "s":
        return f"{value * 1000:.3g} ms" if value < 0.9995 else f"{value:.2f} s"
    return f"{value:.3g} {unit}"


def spread(values, unit):
    """The median, with the quartiles if there are several values."""
    if len(values) < 2:
        return amount(values[0], unit)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{amount(statistics.median(values), unit)} ({amount(low, unit)} to {amount(high, unit)})"


def peer_name(figure):
    """The way's last part: what is before it says what is measured."""
    return figure.peer.rpartition(": ")[2] or "-"


def cells(figure, samples):
    ours, its = (samples.values.get(way, []) for way in (figure.ours, figure.peer))
    shown = [spread(values, figure.unit) if values else "-" for values in (ours, its)]
    row = [figure.what, peer_name(figure), *shown]
    if not ours or (figure.peer and not its):
        return [*row, "not measured"]
    return [*row, f"{statistics.median(ours) / statistics.median(its):.2f}" if figure.peer else "-"]


def before(figures, samples):
    """A row for each of our ways that was also measured with --before."""
    found = {figure.ours: figure for figure in figures if before_way(figure.ours) in samples.values}
    return [Figure(figure.what, way, before_way(way), figure.unit) for way, figure in found.items()]


def before_way(way):
    return way + ": before"


def report(figures, samples):
    """The table, and the reasons why a peer was not measured."""
    rows = [["what", "peer", "ours", "its", "ratio"]]
    rows += [cells(figure, samples) for figure in (*figures, *before(figures, samples))]
    return "\n".join([markdown(rows), *(f"Not measured: {way}: {why}" for way, why in samples.missing.items())])


def markdown(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows = [rows[0], ["-" * width for width in widths], *rows[1:]]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows)
