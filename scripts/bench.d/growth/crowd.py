"""The cost of a run against how many there are at the same time."""

import json
import os
import selectors
import subprocess
import time

import processes
from measure import Curves, Tool, say, steps

LIMITS = ("--memory", "16MiB", "--cpus", "0.01", "--data", "none")
WAYS = ("batch", "launchers")
IDLE = 4  # seconds in which nothing begins or ends


class Crowd:
    """So many runs that sleep, whose launchers tell of them by a pipe each: one line may be longer than what is written to a
    pipe of many at once (PIPE_BUF, pipe(7))."""

    def __init__(self, tool, count, scratch, each):
        self.tool, self.count = tool, count
        # Longer than all take to begin, of which fewer took so many seconds each, and to be looked at.
        self.seconds = int(10 + IDLE + 6 * each * count)
        self.lines = scratch / "crowd.jsonl"
        self.pipes = selectors.DefaultSelector()

    def batch(self):
        line = json.dumps({"command": ["sleep", str(self.seconds)]}) + "\n"
        self.lines.write_text(line * self.count)
        words = ("batch", "--quiet", "--jobs", str(self.count), "--docs", "none", *LIMITS, *self.tool.more)
        return [self.start(lambda events: self.tool.command(*words, *events, str(self.lines)))]

    def launchers(self):
        sleep = ("sleep", str(self.seconds))
        return [self.start(lambda events: self.tool.run(*LIMITS, *events, "--", *sleep)) for _ in range(self.count)]

    def start(self, command):
        read, write = os.pipe()
        child = subprocess.Popen(
            command(("--events", f"fd:{write}")), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(write,)
        )
        os.close(write)
        self.pipes.register(read, selectors.EVENT_READ, bytearray())
        return child

    def wait_for(self, kind, none=()):
        """Read events until every run has told of one kind, and return when, in seconds since 1970."""
        seen = 0
        while seen < self.count:
            for line in self.told():
                event = json.loads(line)
                if event["type"] in none:
                    raise SystemExit(f"bench-growth: a run ended before all had begun: {line.decode()}")
                seen += event["type"] == kind
        return time.time()

    def told(self):
        """The lines that have come, of which there may be none."""
        if not self.pipes.get_map():
            raise SystemExit("bench-growth: all launchers have ended early")
        for key, _ in self.pipes.select():
            came = os.read(key.fd, 1 << 16)
            if not came:
                self.pipes.unregister(key.fd)
                os.close(key.fd)
            key.data.extend(came)
            *lines, rest = key.data.split(b"\n")
            key.data[:] = rest
            yield from lines

    def close(self):
        for key in list(self.pipes.get_map().values()):
            os.close(key.fd)
        self.pipes.close()


def measure(bench):
    drawn = [f"{way}: {what}" for way in WAYS for what in ("from the start to all running, each", "CPU until all run, each", "CPU but for the sleep, each")]
    curves = Curves("Cost of a run against how many there are at once", "runs at once", drawn)
    processes.adopt()
    each = dict.fromkeys(WAYS, 1)
    sizes = [n for n in (1, 5, 20, 100, 200, 500) if n <= (bench.to or 500)]
    for number in range(max(1, bench.rounds // 2)):
        for size in sizes if number == 0 else (n for n in sizes if n <= 100):  # the others take minutes
            for way in WAYS:
                say(f"concurrent: round {number + 1}, {size} in {way}")
                tool = Tool(bench.tool, bench.scratch / f"crowd-{way}", bench.more)
                crowd = Crowd(tool, size, bench.scratch, each[way])
                try:
                    each[way] = one(curves, crowd, way)
                except SystemExit as why:  # the other points are worth having
                    say(f"concurrent: not measured: {size} in {way}: {why}")
                finally:
                    crowd.close()
    return curves


def one(curves, crowd, way):
    count, begin = crowd.count, time.time()
    children = crowd.batch() if way == "batch" else crowd.launchers()
    try:
        running = crowd.wait_for("run.started", none=("run.exited", "run.finished"))
    except SystemExit:
        for child in children:
            child.terminate()
        for child in children:
            child.wait()
        raise
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
    return (running - begin) / count


def waited(child):
    """Wait for a child that must end well, and return the CPU seconds of it and all below it."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"bench-growth: a run ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime
