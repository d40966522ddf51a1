#!/usr/bin/env python3
"""report.py FIGURES FACTS [--json FILE] [--into FILE]: what scripts/bench has measured, as a table for people.
report.py --list: what it measures, and the goals.

FIGURES has a directory for each user that measured, root or user. There is in it: `samples`, a line for each
measurement: the line of scripts/bench, the way and the value, with tabs between; `missing`, the same with the reason in
place of the value; and LINE-ROUND.json, what hyperfine says. FACTS is JSON of what to know besides: day, machine,
versions, command, sizes. --into puts the table between the two marks of a document.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

from goals import FIGURES

BEGIN, END = "<!-- scripts/bench: begin -->", "<!-- scripts/bench: end -->"
HEAD = ("what", "as", "peer", "ours", "its", "ratio", "goal", "reached")
MIB = 1 << 20


def read_samples(directory):
    """Return {line: {way: [value, ...]}} and {line: {way: reason}}."""
    samples, missing = {}, {}
    for line, way, value in table_of(directory / "samples"):
        samples.setdefault(line, {}).setdefault(way, []).append(float(value))
    for file in sorted(directory.glob("*-*.json")):
        for result in json.loads(file.read_text())["results"]:
            way = samples.setdefault(file.name.rpartition("-")[0], {}).setdefault(result["command"], [])
            way.extend(result["times"])
    for line, way, reason in table_of(directory / "missing"):
        missing.setdefault(line, {})[way] = reason
    return samples, missing


def table_of(path):
    if path.exists():
        yield from (row.split("\t", 2) for row in path.read_text().splitlines())


def summary(values):
    """Return median and quartiles. Of few values the quartiles lie between the least and the greatest."""
    values = sorted(values)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"median": statistics.median(values), "quartiles": [low, high], "count": len(values)}


def evaluate(figure, samples, missing, sizes):
    """Return what becomes of a figure: a line of the report."""
    line = {"line": figure.line, "what": figure.what.format(**sizes), "peer": peer_name(figure), "value": None, "reached": None}
    line["unit"] = "" if figure.peer else " MiB" if figure.unit == "MiB" else " s"
    line["goal"] = figure.goal._asdict() if figure.goal else None
    ways = samples.get(figure.line, {})
    why = [missing.get(figure.line, {}).get(way, "no measurement") for way in (figure.ours, figure.peer) if way and way not in ways]
    for side, way in (("ours", figure.ours), ("its", figure.peer)):
        if way in ways:
            line[side] = {**summary(ways[way]), "unit": figure.unit}
    if why:
        line["missing"] = "; ".join(why)
        return line
    median = line["ours"]["median"]
    line["value"] = median / line["its"]["median"] if figure.peer else median / MIB if figure.unit == "MiB" else median
    line["reached"] = figure.goal.reached(line["value"]) if figure.goal else None
    return line


def peer_name(figure):
    """Return who the peer is; what the samples say before a colon tells whose turn it was."""
    return (figure.peer or "").rpartition(": ")[2]


def measured(value, unit):
    """Write a value and what it is in, with three figures."""
    if unit == "MiB":
        return f"{value / MIB:.1f} MiB"
    if unit == "/s":
        return f"{value:.3g} /s"
    return f"{value * 1000:.3g} ms" if value < 0.9995 else f"{value:.2f} s"


def spread(side):
    """Write a median, and where half of all measurements are."""
    if side is None:
        return "-"
    low, high = side["quartiles"]
    words = measured(side["median"], side["unit"])
    if side["count"] > 1:
        number, unit = measured(high, side["unit"]).split(" ")
        words += f" ({bare(low, side['unit'], unit)} to {number})"
    return words


def bare(value, unit, shown):
    """Write a value without its unit, unless it is shown in another one than its neighbour."""
    number, own = measured(value, unit).split(" ")
    return number if own == shown else f"{number} {own}"


def cells(line):
    goal = line["goal"]
    words = f"{goal['relation']} {goal['bound']:g}{line['unit']}" if goal else "-"
    if goal and goal["aim"]:
        words += f", aim {goal['aim']:g}"
    ratio = "-" if line["value"] is None or not line["peer"] else f"{line['value']:.3g}" if line["value"] >= 0.995 else f"{line['value']:.2f}"
    reached = "not measured" if "missing" in line else {True: "yes", False: "no", None: "-"}[line["reached"]]
    return (line["what"], line["who"], line["peer"] or "-", spread(line.get("ours")), spread(line.get("its")), ratio, words, reached)


def markdown(rows):
    """Write rows as a table that is one in the source too."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows)


def report(figures, facts):
    lines, samples = [], {}
    # First those that the goals are for.
    for directory in sorted(figures.iterdir(), key=lambda d: d.name != "user"):
        found, missing = read_samples(directory)
        samples[directory.name] = found
        tried = set(found) | set(missing)
        lines += [{"who": directory.name, **evaluate(f, found, missing, facts["sizes"])} for f in FIGURES if f.line in tried]
    return {**facts, "lines": lines, "samples": samples}


def printed(result):
    table = markdown([HEAD, *(cells(line) for line in result["lines"])])
    notes = [f"Not measured as {x['who']}: {x['what']}, {x['peer'] or 'alone'}: {x['missing']}." for x in result["lines"] if "missing" in x]
    about = f"{result['day']}, {result['machine']}; {'; '.join(result['versions'])}. Command: `{result['command']}`."
    return "\n\n".join([table, *notes, about]) + "\n"


def put_into(document, words):
    """Replace what is between the marks of a document."""
    text = document.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"report.py: {document} has not the lines {BEGIN} and {END}, once each")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    document.write_text(f"{before}{BEGIN}\n{words}{END}{after}")


def listing():
    rows = [(f.line, f.what.format(n=1000, files=100000), peer_name(f) or "-", f.goal.words() + ("" if f.peer else f" {f.unit}") if f.goal else "-") for f in FIGURES]
    return markdown([("name", "what", "peer", "goal"), *rows])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("figures", nargs="?", type=Path)
    parser.add_argument("facts", nargs="?", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--into", type=Path)
    given = parser.parse_args()
    if given.list:
        print(listing())
        return
    result = report(given.figures, json.loads(given.facts.read_text()))
    words = printed(result)
    sys.stdout.write(words)
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    if given.into:
        put_into(given.into, words)


if __name__ == "__main__":
    main()
