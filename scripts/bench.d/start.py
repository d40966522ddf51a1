"""The lines `start`, `run` and `batch`: the program alone, and analyses of `true` beside programs that only make a container."""

import itertools
import json

from measure import Failed, Figure, Line, before_way, take
from peers import Peers, Podman

START_FIGURES = (
    Figure("--version", "start", "empty Go program"),
    Figure("--version", "start", "runc --version"),
)
RUN_FIGURES = (
    Figure("run -- true", "run", "runc"),
    Figure("run -- true", "run", "podman"),
    Figure("run -- true", "run", "bwrap"),
    Figure("run -- true", "run", "crun"),
    Figure("run -- true, CPU time", "CPU: run", "CPU: runc"),
)
BATCH_FIGURES = (
    Figure("batch of true, 2 jobs", "batch", "libcontainer loop", "/s"),
    Figure("batch of true, 2 jobs", "batch", "xargs -P2 runc", "/s"),
    Figure("batch of true, 2 jobs", "batch", "xargs -P2 bwrap", "/s"),
)


def ours(bench, way):
    """Our programs with a root of their own, by the name of the way: that of --before has another name."""
    names = {"after": way, "before": before_way(way)}
    return {names[which]: [program, "--root", bench.root(which)] for which, program in bench.programs.items()}


def start(bench, samples):
    """From the start of the process to its end."""
    commands = {way: [*tool, "--version"] for way, tool in ours(bench, "start").items()}
    commands |= {"empty Go program": [bench.peer("empty")], "runc --version": ["runc", "--version"]}
    samples.turns(bench.rounds(200), {way: lambda command=command: take(command).seconds for way, command in commands.items()})


def run(bench, samples):
    """From the start of the process to its end: the result is committed and the host is clean."""
    peers = Peers(bench, samples)
    peers.add("runc", "bwrap", "crun")
    with Podman(bench.scratch) as podman:
        try:
            podman.load()
            peers.add_command("podman", podman.run())
        except Failed as why:
            samples.missing["podman"] = str(why)
        commands = {way: [*tool, "run", "-q", *bench.request, "--", "true"] for way, tool in ours(bench, "run").items()} | peers.commands
        samples.turns(bench.rounds(100), {way: timed(samples, way, command) for way, command in commands.items()})


def timed(samples, way, command):
    def measure():
        taken = take([word.replace("{}", "1") for word in command])
        samples.values["CPU: " + way].append(taken.cpu)
        return taken.seconds

    return measure


def batch(bench, samples):
    """How many analyses end in a second, two at a time."""
    count = bench.size(1000)
    lines, numbers = bench.scratch / "lines.jsonl", bench.scratch / "numbers"
    lines.write_text((json.dumps({"command": ["true"]}) + "\n") * count)
    numbers.write_text("\n".join(map(str, range(count))))
    peers = Peers(bench, samples)
    peers.add("runc", "bwrap")
    ways = {}
    for way, tool in ours(bench, "batch").items():
        ways[way] = lambda tool=tool: count / take([*fresh(tool), "batch", "--quiet", "--jobs", "2", *bench.request, str(lines)]).seconds
    loop = [bench.peer("loop"), str(bench.scratch / "bundle"), str(bench.scratch / "loop-state"), str(count), "2"]
    ways["libcontainer loop"] = lambda: count / take(loop).seconds
    for name, command in peers.commands.items():
        ways[f"xargs -P2 {name}"] = lambda command=command: count / take(["xargs", "-P2", "-I{}", *command], numbers).seconds
    samples.turns(bench.rounds(3), ways)


serial = itertools.count()


def fresh(tool):
    """The same program with an empty root."""
    return [*tool[:2], f"{tool[2]}-{next(serial)}"]


START, RUN, BATCH = Line(START_FIGURES, start), Line(RUN_FIGURES, run), Line(BATCH_FIGURES, batch)
