"""The cost of a run against how many outputs it makes."""

import shutil
from pathlib import Path

from measure import Curves, Tool, say, steps

LIMITS = ("--timeout", "24h", "--work-size", "64GiB", "--work-files", "2000000", "--memory", "6GiB")


def measure(bench):
    drawn = ["all but the analysis", "to the analysis", "harvest", "commit", "show", "outputs ls"]
    curves = Curves("Cost of a run against its outputs", "outputs", drawn)
    fill = str(Path(__file__).parents[1] / "fill.py")
    events = bench.scratch / "output-events"
    sizes = [0, *steps(bench.to or 1_000_000)]
    for number in range(bench.rounds + 1):
        for size in sizes:
            if number not in rounds(bench, size):
                continue
            say(f"outputs: round {number} of {bench.rounds}, {size:,} outputs")
            one(bench, curves, events, size, ("--data", "none", *LIMITS, "--input", fill, "--", "python3", "/inputs/fill.py", str(size), "40"), number)
        # Not before the end of the round: ext4 passes for a while over inodes that were just freed.
        for root in bench.scratch.glob("outputs-*"):
            shutil.rmtree(root)
    return curves


def rounds(bench, size):
    """In which rounds a size is measured: what takes minutes less often, and not in the one that warms caches."""
    if size <= 10_000:
        return range(bench.rounds + 1)
    return range(1, max(1, bench.rounds // 2) + 1) if size <= 100_000 else [1]


def one(bench, curves, events, size, words, number):
    tool = Tool(bench.tool, bench.scratch / f"outputs-{number}-{size}", bench.more)
    taken, when = tool.phases(events, "--id", "made", *words)
    show, listing = tool.take("show", "made"), tool.take("outputs", "ls", "made")
    if number == 0:
        return
    curves.add("harvest", size, when["harvested"] - when["exited"])
    curves.add("commit", size, when["finished"] - when["harvested"])
    curves.add("to the analysis", size, when["started"])
    curves.add("after the commit", size, when["end"] - when["finished"])
    curves.add("all but the analysis", size, when["end"] - when["exited"] + when["started"])
    curves.add("show", size, show.seconds)
    curves.add("outputs ls", size, listing.seconds)
    curves.add("memory of the run", size, taken.memory, "bytes")
    curves.add("memory of show", size, show.memory, "bytes")
    curves.add("memory of outputs ls", size, listing.memory, "bytes")
