"""The line `growth`: what commands cost against runs in the catalog, files in data, outputs, and runs at once.

Each round goes through all sizes; the first one warms caches and does not count. A curve is judged by its exponent: the
slope over its last decade with both axes logarithmic, where 0 is constant and 1 linear.
"""

import hashlib
import json
import math
import os
import shutil
import sqlite3
import statistics
from collections import defaultdict
from pathlib import Path

from harvest import harvested
from measure import Figure, Line, amount, markdown, say, take

FIGURES = tuple(
    Figure(what, what)
    for what in (
        "commands against runs in the catalog",
        "a run against files in data",
        "a run against its outputs",
        "a batch against runs at once",
    )
)


def measure(bench, samples):
    curve(bench, "runs in the catalog, CPU time", 100_000, catalog)
    curve(bench, "files in data, time", 100_000, data)
    curve(bench, "outputs, time", 100_000, outputs)
    curve(bench, "runs at once, CPU time for each", 100, crowd)


def curve(bench, title, top, prepare):
    """Measure what prepare returns for each size, {name: a function that takes one measurement}, and print a table."""
    values = defaultdict(lambda: defaultdict(list))
    points = []
    for size in steps(max(10, bench.size(top))):
        say(f"{title}: preparing {size:,}")
        points.append((size, prepare(bench, size)))
    for number in range(bench.rounds(3) + 1):
        for size, figures in points:
            say(f"{title}: round {number}, {size:,}")
            for name, figure in figures.items():
                value = figure()
                if number:
                    values[name][size].append(value)
    print("\n" + table(title, values), flush=True)
    for made in bench.scratch.glob("growth-*"):
        shutil.rmtree(made)


def steps(top):
    """The powers of ten up to the top, which is one, and one more point in the last decade."""
    powers = [10**n for n in range(7) if 10**n <= top]
    return sorted({*powers, top * 3 // 10})


def table(title, values):
    sizes = sorted({size for points in values.values() for size in points})
    rows = [[title, *(f"{size:,}" for size in sizes), "last : first", "exponent"]]
    for name, points in values.items():
        medians = [statistics.median(points[size]) for size in sizes]
        ratio = f"{medians[-1] / medians[0]:.1f}" if medians[0] > 0 else "-"
        rows.append([name, *(amount(median, "s") for median in medians), ratio, exponent(sizes, medians)])
    return markdown(rows)


def exponent(sizes, medians):
    """The slope over the last decade, by least squares."""
    logs = [(math.log(x), math.log(y)) for x, y in zip(sizes, medians) if x * 10 >= sizes[-1] and y > 0]
    if len(logs) < 2:
        return "-"
    return f"{statistics.linear_regression(*zip(*logs)).slope:.2f}"


def growing(bench, name):
    """A program with a root of its own, which curve removes."""
    return [bench.tool, "--root", str(bench.scratch / f"growth-{name}")]


def run_true(bench, tool):
    return [*tool, "run", "-q", *bench.request, "--", "true"]


def catalog(bench, size):
    """Commands on a catalog of so many copies of two real runs, a complete and a failed one, nine to one."""
    tool = growing(bench, f"catalog-{size}")
    for name, code in (("good", 0), ("bad", 1)):
        script = f"echo made by a run >result.txt; exit {code}"
        run = [*tool, "run", "-q", *bench.request, "--id", name, "--label", "k=v", "--", "sh", "-c", script]
        take(["sh", "-c", f'"$@"; test $? = {code}', "sh", *run])
    fill(Path(tool[2]), size)
    middle = size // 2
    commands = {
        "run -- true": run_true(bench, tool),
        "show ID": [*tool, "show", copied(middle)],
        "ls": [*tool, "ls"],
        "ls --state failed --label k=v": [*tool, "ls", "--state", "failed", "--label", "k=v"],
        "ls --label rare=1": [*tool, "ls", "--label", "rare=1"],
        "ls --state lost (none)": [*tool, "ls", "--state", "lost"],
        "outputs find SHA256": [*tool, "outputs", "find", hashlib.sha256(content(middle)).hexdigest()],
        "gc --dry-run": [*tool, "gc", "--dry-run"],
        "gc": [*tool, "gc"],
    }
    return {name: lambda command=command: take(command).cpu for name, command in commands.items()}


def data(bench, size):
    """A run on a directory of so many empty files; from 10,000 on the scan of the first one is remembered."""
    tree = bench.scratch / f"growth-files-{size}"
    for number in range(size):
        inner = tree / f"{number // 1000:06}"
        inner.mkdir(parents=True, exist_ok=True)
        (inner / f"{number:09}").touch()
    os.sync()
    tool = growing(bench, f"data-{size}")

    def first():
        shutil.rmtree(Path(tool[2]) / "scans", ignore_errors=True)
        return again()

    def again():
        return take([*tool, "run", "-q", "--data", str(tree), *bench.request[2:], "--", "true"]).seconds  # instead of its --data none

    return {"run -- true, first": first, "run -- true, again": again}


def outputs(bench, size):
    """A run that makes so many files of 40 bytes, but for its analysis, and commands on its result."""
    tool = growing(bench, f"outputs-{size}")
    return {
        "run but for its analysis": lambda: harvested(bench, tool[2], size, 40),
        "show": lambda: take([*tool, "show", "@last"]).seconds,
        "outputs ls": lambda: take([*tool, "outputs", "ls", "@last"]).seconds,
    }


def crowd(bench, size):
    """A batch of so many analyses at once that sleep for five seconds."""
    tool, lines = growing(bench, f"crowd-{size}"), bench.scratch / f"crowd-{size}.jsonl"
    lines.write_text((json.dumps({"command": ["sleep", "5"]}) + "\n") * size)
    batch = [*tool, "batch", "--quiet", "--jobs", str(size), "--memory", "16MiB", *bench.request, str(lines)]
    return {"batch of sleep": lambda: take(batch).cpu / size}


def copied(number):
    return f"synthetic-{number:07}"


def content(number):
    return b"%013d\n" % number  # as long as what the copied run wrote


# What differs in a copy, by column; ids stand in the documents too. Copies are 30 s apart from 2024 on.
MOMENT = "strftime('%Y-%m-%dT%H:%M:%S.000Z', 1704067200 + 30 * c.n, 'unixepoch')"
CHANGED = dict.fromkeys(("created_at", "started_at", "finished_at"), MOMENT) | {
    "id": "c.id",
    "request": "replace(request, t.id, c.id)",
    "place": "replace(place, t.id, c.id)",
    "sha256": "blob(c.n)",
}


def fill(root, count):
    """Add copies of the rows of two runs with other ids, times and digests, and a label that ten of them share."""
    blobs = root / "blobs/sha256"

    def blob(number):
        name = hashlib.sha256(content(number)).hexdigest()
        (blobs / name).write_bytes(content(number))
        (blobs / name).chmod(0o444)
        return name

    db = sqlite3.connect(root / "catalog.db")
    db.create_function("blob", 1, blob)
    db.execute("PRAGMA synchronous = OFF")
    with db:
        db.execute("CREATE TEMP TABLE copies (n INTEGER PRIMARY KEY, template TEXT, id TEXT)")
        db.executemany("INSERT INTO copies VALUES (?, ?, ?)", ((n, "bad" if n % 10 == 9 else "good", copied(n)) for n in range(count)))
        for name in ("analysis_run", "run_label", "analysis_output"):
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
            values = ", ".join(CHANGED.get(column, f"t.{column}") for column in columns)
            db.execute(f"INSERT INTO {name} SELECT {values} FROM copies c JOIN {name} t ON t.id = c.template")
        db.execute("INSERT INTO run_label SELECT id, 1, 'rare', CAST(n / 10 AS TEXT) FROM copies")
    db.close()
    os.sync()


LINE = Line(FIGURES, measure)
