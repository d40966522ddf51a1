"""Tables for people, and what scripts/chart.py draws."""

import json
import subprocess
import sys
from pathlib import Path


def table(figure):
    """A Markdown table: a line for each figure, a column for each point."""
    xs = sorted({x for series in figure["series"] for x, _ in series["points"]})
    rows = [[figure["x"], *(f"{x:,}" for x in xs), "last : first", "exponent"]]
    for series in figure["series"]:
        points = dict(map(tuple, series["points"]))
        cells = [amount(points[x], series["unit"]) if x in points else "" for x in xs]
        rows.append([series["name"], *cells, optional(series["ratio"], ".1f"), optional(series["exponent"], ".2f")])
    rows.insert(1, ["---"] * len(rows[0]))
    return f"\n{figure['title']}\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in rows)


def optional(value, form):
    return "" if value is None else format(value, form)


def amount(value, unit):
    if unit == "bytes":
        return f"{value / 2**20:.1f} MiB"
    if unit == "cores":
        return f"{value * 1000:.2f} mCPU"
    return f"{value:.1f} s" if value >= 10 else f"{value * 1000:.0f} ms" if value >= 0.1 else f"{value * 1000:.1f} ms"


def chart(figure, scratch, to):
    """Draw it with both axes logarithmic. A point at 0 has no place there."""
    known = {s["name"]: s for s in figure["series"]}
    series = [{"name": name, "points": [[x, y] for x, y in known[name]["points"] if x > 0 and y > 0]} for name in figure["drawn"]]
    told = {"title": figure["title"], "x": figure["x"], "y": "seconds", "series": series, "log": ["x", "y"]}
    source = scratch / "chart.json"
    source.write_text(json.dumps(told))
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, Path(__file__).parents[2] / "chart.py", "curves", source, to], check=True)
