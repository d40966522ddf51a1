"""Times commands, and says how fast a figure grows."""

import json
import math
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from datetime import datetime
from pathlib import Path


def say(text):
    print(f"bench-growth: {text}", file=sys.stderr, flush=True)


class Taken:
    """What a command took: seconds, CPU seconds and the peak memory of its largest process, with what it printed."""

    def __init__(self, told, output):
        self.begin, self.seconds = told["begin"], told["end"] - told["begin"]
        self.cpu, self.memory, self.code, self.output = told["cpu"], told["memory"], told["code"], output


def take(command, keep=False, codes=(0,)):
    """Run a command to its end. Its standard output is kept, or goes nowhere."""
    read, write = os.pipe()
    script = 'exec "$@" 3>&%d %d>&-' % (write, write)
    timed = [sys.executable, "-I", "-S", str(Path(__file__).with_name("taking.py")), *command]
    to = subprocess.PIPE if keep else subprocess.DEVNULL
    child = subprocess.run(["sh", "-c", script, "sh", *timed], stdin=subprocess.DEVNULL, stdout=to, pass_fds=(write,))
    os.close(write)
    with os.fdopen(read) as told:
        taken = Taken(json.loads(told.read()), child.stdout)
    if taken.code not in codes:
        raise SystemExit(f"bench-growth: {command} ended with {taken.code}")
    return taken


class Tool:
    """scidex-oci with a root of its own."""

    def __init__(self, path, root, more=()):
        self.path, self.root, self.more = path, str(root), list(more)

    def command(self, *words):
        return [self.path, "--root", self.root, *words]

    def run(self, *words):
        return self.command("run", "--quiet", "--docs", "none", *self.more, *words)

    def take(self, *words, **how):
        return take(self.command(*words), **how)

    def phases(self, events, *words):
        """Run an analysis and return what it took, with when each of its events was told, in seconds since the start."""
        events.unlink(missing_ok=True)
        taken = take(self.run("--events", str(events), *words))
        lines = (json.loads(line) for line in events.read_text().splitlines())
        when = {line["type"].removeprefix("run."): moment(line["time"]) - taken.begin for line in lines}
        when["end"] = taken.seconds
        return taken, when


def moment(text):
    """Seconds since 1970 of a time as events have it."""
    return datetime.fromisoformat(text).timestamp()


class Curves:
    """Figures against one quantity: for each a list of measurements at each point. Few of them are drawn."""

    def __init__(self, title, x, drawn):
        self.title, self.x, self.drawn = title, x, drawn
        self.all = defaultdict(lambda: defaultdict(list))
        self.units = {}

    def add(self, name, x, value, unit="s"):
        self.all[name][x].append(value)
        self.units[name] = unit

    def told(self):
        """The medians, the middle halves, the ratio of last to first, and how fast each grows at the end."""
        series = []
        for name, points in self.all.items():
            medians = [[x, statistics.median(values)] for x, values in sorted(points.items())]
            series.append({
                "name": name,
                "unit": self.units[name],
                "points": medians,
                "middle_half": [[x, *middle(values)] for x, values in sorted(points.items())],
                "measured": [[x, len(values)] for x, values in sorted(points.items())],
                "ratio": medians[-1][1] / medians[0][1] if medians[0][1] > 0 else None,
                "exponent": exponent(medians),
            })
        return {"title": self.title, "x": self.x, "drawn": self.drawn, "series": series}


def middle(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def exponent(points):
    """The slope over the last decade with both axes logarithmic, by least squares: 1 is linear, 0 is constant."""
    last = points[-1][0]
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0 and x * 10 >= last]
    if len(logs) < 2:
        return None
    x, y = (statistics.fmean(column) for column in zip(*logs))
    return sum((a - x) * (b - y) for a, b in logs) / sum((a - x) ** 2 for a, b in logs)


def steps(to, halves=True):
    """1, 10, 100 and so on up to a bound, and a point in the last decade."""
    found = [10**n for n in range(7) if 10**n <= to]
    if halves and found[-1] >= 1000:
        found.append(found[-1] * 3 // 10)
    return sorted({*found, to})
