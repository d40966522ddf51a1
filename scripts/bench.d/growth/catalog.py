"""The cost of commands against how many runs the catalog has."""

import hashlib
import json

from measure import Curves, Tool, say, steps, take
from synthetic import copy, fill

TRUE = ("--data", "none", "--", "true")


class Filled:
    """A root whose catalog has so many synthetic runs."""

    def __init__(self, bench, count):
        self.count = count
        self.tool = Tool(bench.tool, bench.scratch / f"catalog-{count}", bench.more)
        templates = []
        for command, code in (("echo made by a run > result.txt", 0), ("echo made by a run > result.txt; exit 1", 1)):
            words = ("run", "--json", "--docs", "none", "--data", "none", *bench.more, "--label", "k=v", "--", "sh", "-c", command)
            templates.append(json.loads(self.tool.take(*words, keep=True, codes=(code,)).output)["id"])
        # One of ten has failed.
        fill(self.tool.root, count, [templates[0]] * 9 + [templates[1]])
        n = count // 2
        self.some, self.digest = copy(n, templates)[2], hashlib.sha256(b"%d\n" % n).hexdigest()
        if count == 0:
            self.some, self.digest = templates[0], hashlib.sha256(b"made by a run\n").hexdigest()

    def figures(self):
        yield "run -- true", self.tool.run(*TRUE)
        yield "show ID", self.tool.command("show", self.some)
        yield "ls", self.tool.command("ls")
        yield "ls --state failed --label k=v", self.tool.command("ls", "--state", "failed", "--label", "k=v")
        yield "ls --label rare=1", self.tool.command("ls", "--label", "rare=1")
        yield "ls --state lost (none)", self.tool.command("ls", "--state", "lost")
        yield "find SHA256", self.tool.command("outputs", "find", self.digest)
        yield "gc --dry-run", self.tool.command("gc", "--dry-run")
        yield "gc", self.tool.command("gc")


def measure(bench):
    drawn = ["run -- true", "show ID", "ls --state failed --label k=v", "find SHA256", "gc", "stop ID"]
    curves = Curves("Cost of a command against the size of the catalog", "runs in the catalog", drawn)
    sizes = [0, *steps(bench.to or 1_000_000)[2:]]
    roots = []
    for size in sizes:
        say(f"catalog: making one of {size:,} runs")
        roots.append(Filled(bench, size))
    for number in range(bench.rounds + 1):
        for root in roots:
            say(f"catalog: round {number} of {bench.rounds}, {root.count:,} runs")
            for name, command in root.figures():
                taken = take(command)
                note(curves, name, root.count, taken, warm=number > 0)
            run = root.tool.take("run", "--detach", "--quiet", *bench.more, "--docs", "none", "--data", "none", "--", "sleep", "600", keep=True)
            taken = root.tool.take("stop", run.output.decode().split()[0])
            note(curves, "stop ID", root.count, taken, warm=number > 0)
    return curves


def note(curves, name, count, taken, warm):
    """Keep a measurement; the first round only warms caches."""
    if warm:
        curves.add(name, count, taken.seconds)
        curves.add(name + ", CPU", count, taken.cpu)
        curves.add(name + ", memory", count, taken.memory, "bytes")
