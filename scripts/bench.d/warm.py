"""The line `warm`: scripts of Python that are started before their turn (docs/warm.md), beside `--preload none`."""

import json
import statistics
import subprocess

from measure import Failed, Figure, Line, take
from start import fresh, ours

GAP, NOTHING, COLD = "ready", "imports nothing", ": --preload none"
FIGURES = (
    Figure("from the end of one script to the first line of the next", GAP, GAP + COLD),
    Figure("batch of scripts that import nothing, 2 jobs", NOTHING, NOTHING + COLD, "/s"),
)
# The next one is prepared while this one sleeps: longer than the imports take.
SLEEPS = """import pandas, scipy.stats
import os, time
print(time.monotonic())
time.sleep(4)
print(time.monotonic(), flush=True)
os._exit(0)
"""


def batch(bench, tool, lines, *flags):
    """Run a file of lines into a fresh catalog, and return what it took and the results."""
    taken = take([*tool, "batch", "--json", "--quiet", *bench.request, *flags, str(lines)])
    return taken.seconds, [json.loads(line) for line in taken.output.splitlines() if line.startswith("{")]


def gap(bench, tool, lines, *flags):
    """The median of the seconds between the scripts of a batch, which run one after the other."""
    tool = fresh(tool)
    _, results = batch(bench, tool, lines, "--jobs", "1", *flags)
    kinds = [(result.get("start") or {}).get("kind") for result in results]
    if not flags and set(kinds) != {"ready"}:
        raise Failed(f"the starts were {kinds}: is there no room for a second run?")
    said = [subprocess.run([*tool, "logs", result["id"]], capture_output=True, text=True, check=True).stdout.split() for result in results]
    said = said[1:]  # the second is not prepared while the first runs: whether that is short is not known yet
    return statistics.median(float(next_[0]) - float(last[1]) for last, next_ in zip(said, said[1:]))


def warm(bench, samples):
    sleeps, nothing = script(bench, "sleeps.py", SLEEPS, 5), script(bench, "nothing.py", "print('nothing')\n", bench.size(400))
    after = ours(bench, GAP)[GAP]
    ways = {GAP: lambda: gap(bench, after, sleeps), GAP + COLD: lambda: gap(bench, after, sleeps, "--preload", "none")}
    for way, tool in ours(bench, NOTHING).items():
        ways[way] = lambda tool=tool: rate(bench, tool, nothing)
    ways[NOTHING + COLD] = lambda: rate(bench, after, nothing, "--preload", "none")
    samples.turns(bench.rounds(5), ways)


def rate(bench, tool, lines, *flags):
    seconds, results = batch(bench, fresh(tool), lines, "--jobs", "2", *flags)
    return len(results) / seconds


def script(bench, name, text, count):
    """A file of lines that run a script."""
    (bench.scratch / name).write_text(text)
    lines = bench.scratch / (name + ".jsonl")
    lines.write_text((json.dumps({"script": name}) + "\n") * count)
    return lines


WARM = Line(FIGURES, warm)
