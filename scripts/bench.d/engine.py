"""The line `engine`: calls of the Python client, which share an engine (docs/serve.md)."""

import asyncio
import json
import sys
import time
from pathlib import Path

from measure import MIB, Failed, Figure, Line, take
from memory import children, total
from peers import Peers
from start import fresh

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
import scidex_oci  # noqa: E402 # it is found there

RUN, TOGETHER, BATCH, IDLE = "run", "arun", "batch --jobs 8", "idle"
FIGURES = (
    Figure('run(["true"]) of the Python client', RUN, "runc"),
    Figure('500 arun(["true"]), 8 at once', TOGETHER, BATCH, "/s"),
    Figure("memory of the idle engine", IDLE, unit="MiB"),
)


def client(bench):
    """A tool of the client, and the fields that all runs have."""
    limits = {"limits": "best-effort"} if "best-effort" in bench.request else {}
    return scidex_oci.Tool(binary=bench.tool, root=bench.root("engine")), {"data": "none", "docs": "none", "command": ["true"], **limits}


def one(tool, fields):
    """Seconds of a call."""
    begin = time.perf_counter()
    result = scidex_oci.run(tool=tool, **fields)
    seconds = time.perf_counter() - begin
    if not result.ok:
        raise Failed(str(result))
    return seconds


def together(tool, fields, count):
    """Runs in a second, eight asked for at once."""

    async def all_of_them():
        room = asyncio.Semaphore(8)

        async def next_one():
            async with room:
                return await scidex_oci.arun(tool=tool, **fields)

        return await asyncio.gather(*(next_one() for _ in range(count)))

    begin = time.perf_counter()
    results = asyncio.run(all_of_them())
    seconds = time.perf_counter() - begin
    if not all(results):
        raise Failed(str(next(result for result in results if not result)))
    return count / seconds


def idle(tool, fields):
    """What an engine takes that has run 20 analyses and has nothing to do."""
    before = set(children("self"))
    for _ in range(20):
        one(tool, fields)
    started = set(children("self")) - before
    return sum(total(pid) for pid in started) / MIB


def engine(bench, samples):
    tool, fields = client(bench)
    count = bench.size(500)
    lines = bench.scratch / "true.jsonl"
    lines.write_text((json.dumps({"command": ["true"]}) + "\n") * count)
    peers = Peers(bench, samples)
    peers.add("runc")
    try:
        samples.turns(bench.rounds(5), {IDLE: lambda: fresh_engine(idle, tool, fields)})
        one(tool, fields)  # which starts the engine
        ways = {RUN: lambda: one(tool, fields)}
        ways.update({name: lambda command=command: take([word.replace("{}", "1") for word in command]).seconds for name, command in peers.commands.items()})
        samples.turns(bench.rounds(100), ways)
        batch = [bench.tool, "--root", bench.root("engine-batch")]
        ways = {TOGETHER: lambda: together(tool, fields, count)}
        ways[BATCH] = lambda: count / take([*fresh(batch), "batch", "--quiet", "--jobs", "8", *bench.request, str(lines)]).seconds
        samples.turns(bench.rounds(5), ways)
    finally:
        scidex_oci.close_engines()


def fresh_engine(measure, *arguments):
    """Measure with an engine that is started for it."""
    scidex_oci.close_engines()
    return measure(*arguments)


LINE = Line(FIGURES, engine)
