"""The cost of a run against how many there are at the same time."""

import json
import os
import subprocess
import time

import processes
from measure import Curves, Tool, say, steps

LIMITS = ("--memory", "16MiB", "--cpus", "0.01", "--data", "none")
WAYS = ("batch", "launchers")
IDLE = 4  # seconds in which nothing begins or ends


class Crowd:
    """So many runs that sleep, whose events come through one pipe."""

    def __init__(self, tool, count, scratch, each):
        self.tool, self.count = tool, count
        # Longer than all take to begin, of which fewer took so many seconds each, and to be looked at.
        self.seconds = int(10 + IDLE + 6 * each * count)
        self.read, self.write = os.pipe()
        self.lines = scratch / "crowd.jsonl"
        self.told = b""

    def batch(self):
        line = json.dumps({"command": ["sleep", str(self.seconds)]}) + "\n"
        self.lines.write_text(line * self.count)
        words = ("batch", "--quiet", "--jobs", str(self.count), "--docs", "none", *LIMITS, *self.tool.more)
        return [self.start(self.tool.command(*words, *self.events(), str(self.lines)))]

    def launchers(self):
        command = self.tool.run(*LIMITS, *self.events(), "--", "sleep", str(self.seconds))
        return [self.start(command) for _ in range(self.count)]

    def events(self):
        return "--events", f"fd:{self.write}"

    def start(self, command):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(self.write,))

    def wait_for(self, kind, none=()):
        """Read events until every run has told of one kind, and return when, in seconds since 1970."""
        seen = 0
        while seen < self.count:
            while b"\n" not in self.told:
                self.told += os.read(self.read, 1 << 16)
            line, _, self.told = self.told.partition(b"\n")
            event = json.loads(line)
            if event["type"] in none:
                raise SystemExit(f"bench-growth: a run ended before all had begun: {line.decode()}")
            seen += event["type"] == kind
        return time.time()


def measure(bench):
    drawn = [f"{way}: {what}" for way in WAYS for what in ("from the start to all running, each", "CPU until all run, each", "CPU but for the sleep, each")]
    curves = Curves("Cost of a run against how many there are at once", "runs at once", drawn)
    processes.adopt()
    each = dict.fromkeys(WAYS, 1)
    sizes = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500) if n <= (bench.to or 500)]
    for number in range(max(1, bench.rounds // 2)):
        for size in sizes if number == 0 else (n for n in sizes if n <= 100):  # the others take minutes
            for way in WAYS:
                say(f"concurrent: round {number + 1}, {size} in {way}")
                tool = Tool(bench.tool, bench.scratch / f"crowd-{way}", bench.more)
                each[way] = one(curves, Crowd(tool, size, bench.scratch, each[way]), way)
    return curves


def one(curves, crowd, way):
    count, begin = crowd.count, time.time()
    children = crowd.batch() if way == "batch" else crowd.launchers()
    running = crowd.wait_for("run.started", none=("run.exited", "run.finished"))
    cpu = processes.cpu()
    time.sleep(IDLE)
    idle = (processes.cpu() - cpu) / IDLE
    ours = [p for p in processes.below() if p.name != "sleep"]
    memory = sum(p.pss() for p in ours)
    slept = crowd.wait_for("run.finished") - running
    whole = sum(waited(child) for child in children)
    curves.add(f"{way}: from the start to all running, each", count, (running - begin) / count)
    curves.add(f"{way}: CPU until all run, each", count, cpu / count)
    curves.add(f"{way}: CPU but for the sleep, each", count, max(0, whole - idle * slept) / count)
    curves.add(f"{way}: CPU while it sleeps, each", count, idle / count, "cores")
    curves.add(f"{way}: memory, each", count, memory / count, "bytes")
    os.close(crowd.read)
    os.close(crowd.write)
    return (running - begin) / count


def waited(child):
    """Wait for a child that must end well, and return the CPU seconds of it and all below it."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"bench-growth: a run ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime
