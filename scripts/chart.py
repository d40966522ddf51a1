#!/usr/bin/env python3
"""scripts/chart.py bars|curves IN.json OUT.svg: a chart that needs nothing but a browser, in its light or dark colours.

bars: what `scripts/bench --json` writes. One bar for each line of its table that has a goal, as the first of those who
measured has it, from the goal to what was reached, on a logarithmic axis: to the left is better, to the right worse.

curves: {"title", "x", "y", "series": [{"name", "points": [[x, y], ...]}], "log": ["x", "y"]}. Axes named in "log" are
logarithmic and leave out what is not above zero; the others begin at zero.
"""

import json
import math
import sys
from html import escape
from pathlib import Path

WIDTH = 860
LIGHT = {"paper": "#ffffff", "ink": "#1f2328", "dim": "#59636e", "line": "#d1d9e0"}
DARK = {"paper": "#0d1117", "ink": "#e6edf3", "dim": "#9198a1", "line": "#3d444d"}
LIGHT_SERIES = ("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#9a6700", "#bf3989")
DARK_SERIES = ("#58a6ff", "#f0883e", "#3fb950", "#bc8cff", "#d29922", "#f778ba")
SHAPES = """
text { font: 13px "DejaVu Sans", Helvetica, Arial, sans-serif; }
.title { font-size: 16px; font-weight: bold; } .dim { font-size: 12px; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.goal { stroke-width: 1.5; } .curve { fill: none; stroke-width: 2; }
"""


def colours(scheme, series):
    """Return the rules that only differ between light and dark; without variables, which not all viewers know."""
    rules = [
        f"text {{ fill: {scheme['ink']}; }} text.dim {{ fill: {scheme['dim']}; }} .paper {{ fill: {scheme['paper']}; }}",
        f".grid {{ stroke: {scheme['line']}; }} .goal {{ stroke: {scheme['ink']}; }}",
        *(f".fill{i} {{ fill: {c}; }} .stroke{i} {{ stroke: {c}; }}" for i, c in enumerate(series)),
    ]
    return "\n".join(rules) + "\n"


STYLE = SHAPES + colours(LIGHT, LIGHT_SERIES) + "@media (prefers-color-scheme: dark) {\n" + colours(DARK, DARK_SERIES) + "}\n"


class Axis:
    """Where a value lies between two pixels, and which values to mark."""

    def __init__(self, low, high, first, last, log):
        self.log = log
        if log:
            self.low, self.high = low, high if high > low else low * 10
        else:
            self.low, self.high = 0, high if high > 0 else 1
        self.first, self.last = first, last

    def at(self, value):
        low, high = self._scaled(self.low), self._scaled(self.high)
        return self.first + (self._scaled(value) - low) / (high - low) * (self.last - self.first)

    def ticks(self):
        if not self.log:
            step = nice_step(self.high / 5)
            return [step * i for i in range(int(self.high / step + 1e-9) + 1)]
        decades = math.log10(self.high / self.low)
        steps = (1,) if decades > 3 else (1, 3) if decades > 1.5 else (1, 2, 5)
        every = max(1, math.ceil(decades / 8))
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        marks = [s * 10.0**p for p in powers if p % every == 0 for s in steps]
        return [m for m in marks if self.low * 0.999 <= m <= self.high * 1.001]

    def _scaled(self, value):
        return math.log10(value) if self.log else value


def nice_step(least):
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least this."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(s * power for s in (1, 2, 5, 10) if s * power >= least * 0.999)


def number(value):
    """Write a number for people: three figures, and thousands and more by their names."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def text(x, y, words, kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(words)}</text>'


def line(x1, y1, x2, y2, kind):
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" class="{kind}"/>'


def drawing(height, title, parts):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img">\n<title>{escape(title)}</title>\n<style>{STYLE}</style>'
    )
    paper = '<rect width="100%" height="100%" class="paper"/>'
    return "\n".join([head, paper, text(20, 28, title, "title"), *parts, "</svg>"]) + "\n"


def share_of_goal(entry):
    """Return what was reached as a part of the goal: below one is better than the goal, for either kind of goal."""
    value, bound = entry["value"], entry["goal"]["bound"]
    return value / bound if entry["goal"]["relation"] == "at most" else bound / value


def bars(report):
    """Draw a report of scripts/bench."""
    entries = [e for e in report["lines"] if e.get("value") and e.get("goal")]
    entries = [e for e in entries if e["who"] == entries[0]["who"]]
    if not entries:
        raise SystemExit("chart.py: nothing was measured that has a goal")
    shares = [share_of_goal(e) for e in entries]
    left, right, top, row = 330, WIDTH - 30, 76, 40
    bottom = top + row * len(entries)
    axis = Axis(min([0.5, *shares]) / 1.1, max([2, *shares]) * 1.1, left, right, log=True)
    about = f"What was measured, as {entries[0]['who']}, as a part of its goal, logarithmic: left of the line is better than the goal."
    parts = [text(20, 50, about, "dim")]
    for mark in axis.ticks():
        parts += [line(axis.at(mark), top, axis.at(mark), bottom, "grid")]
        parts += [text(axis.at(mark), bottom + 18, f"{mark:g}", "dim middle")]
    goal = axis.at(1)
    for i, (entry, share) in enumerate(zip(entries, shares)):
        y, end, colour = top + i * row, axis.at(share), 0 if entry["reached"] else 1
        parts += [text(left - 12, y + 17, entry["what"], "end"), text(left - 12, y + 33, entry["peer"], "dim end")]
        parts += [f'<rect x="{min(goal, end):.1f}" y="{y + 8}" width="{max(abs(end - goal), 1):.1f}" height="{row - 16}" class="fill{colour}"/>']
        inside = "end" if share < 1 else ""
        words = f"{number(entry['value'])}{entry['unit']}, {entry['goal']['relation']} {number(entry['goal']['bound'])}"
        # Beyond the goal's line, where there is no bar.
        parts += [text(goal + (8 if inside else -8), y + 24, words, "dim" if inside else "dim end")]
    parts += [line(goal, top - 6, goal, bottom, "goal")]
    return drawing(bottom + 36, "scidex-oci beside its peers", parts)


def curves(figure):
    """Draw lines through points."""
    log = figure.get("log", [])
    series = [{**s, "points": [p for p in s["points"] if all(p[i] > 0 for i, a in enumerate("xy") if a in log)]} for s in figure["series"]]
    points = [p for s in series for p in s["points"]]
    if not points:
        raise SystemExit("chart.py: there are no points to draw")
    left, right, top = 80, WIDTH - 30, 64 + 20 * len(series)
    bottom = top + 340
    xs, ys = zip(*points)
    across = Axis(min(xs), max(xs), left, right, "x" in log)
    up = Axis(min(ys) / 1.2, max(ys) * 1.1, bottom, top, "y" in log)
    parts = []
    for mark in across.ticks():
        parts += [line(across.at(mark), top, across.at(mark), bottom, "grid")]
        parts += [text(across.at(mark), bottom + 18, number(mark), "dim middle")]
    for mark in up.ticks():
        parts += [line(left, up.at(mark), right, up.at(mark), "grid"), text(left - 8, up.at(mark) + 4, number(mark), "dim end")]
    for i, one in enumerate(series):
        colour = i % len(LIGHT_SERIES)
        places = [(across.at(x), up.at(y)) for x, y in sorted(one["points"])]
        parts += [f'<polyline class="curve stroke{colour}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>']
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="fill{colour}"/>' for x, y in places]
        parts += [f'<rect x="20" y="{47 + 20 * i}" width="14" height="4" class="fill{colour}"/>', text(42, 54 + 20 * i, one["name"])]
    parts += [text((left + right) / 2, bottom + 40, figure["x"], "middle")]
    parts += [f'<text transform="translate(20 {(top + bottom) / 2:.1f}) rotate(-90)" class="middle">{escape(figure["y"])}</text>']
    return drawing(bottom + 56, figure["title"], parts)


def main(arguments):
    if len(arguments) != 3 or arguments[0] not in ("bars", "curves"):
        raise SystemExit("usage: scripts/chart.py bars|curves IN.json OUT.svg")
    kind, source, target = arguments
    draw = bars if kind == "bars" else curves
    Path(target).write_text(draw(json.loads(Path(source).read_text())))


if __name__ == "__main__":
    main(sys.argv[1:])
