"""The cost of a run against how many files its data has."""

import os
import shutil

from measure import Curves, Tool, say, steps

EACH = 1000  # files in a directory
KINDS = ("first", "again")  # again: what the first scan saw is remembered


def make(directory, count):
    directory.mkdir()
    for n in range(count):
        if n % EACH == 0:
            inner = directory / f"{n // EACH:06}"
            inner.mkdir()
        os.close(os.open(inner / f"{n:09}", os.O_CREAT | os.O_WRONLY, 0o644))
    return str(directory)


def measure(bench):
    drawn = [f"{part}, {kind}" for part in ("whole run", "to the intent, with the scan", "from the intent on") for kind in KINDS]
    curves = Curves("Cost of a run against the files in data", "files in data", drawn)
    tool = Tool(bench.tool, bench.scratch / "data-root", bench.more)
    events = bench.scratch / "data-events"
    sizes = steps(bench.to or 1_000_000)
    trees = []
    for size in sizes:
        say(f"data: making {size:,} files")
        trees.append(make(bench.scratch / f"data-{size}", size))
    os.sync()
    for number in range(bench.rounds + 1):
        for size, tree in zip(sizes, trees):
            say(f"data: round {number} of {bench.rounds}, {size:,} files")
            shutil.rmtree(bench.scratch / "data-root" / "scans", ignore_errors=True)
            for kind in KINDS:
                taken, when = tool.phases(events, "--data", tree, "--", "true")
                if number == 0:
                    continue
                curves.add(f"whole run, {kind}", size, taken.seconds)
                curves.add(f"to the intent, with the scan, {kind}", size, when["created"])
                curves.add(f"from the intent on, {kind}", size, taken.seconds - when["created"])
                curves.add(f"CPU, {kind}", size, taken.cpu)
                curves.add(f"memory, {kind}", size, taken.memory, "bytes")
    return curves
