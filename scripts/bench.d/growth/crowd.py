"""The cost of a run against how many there are at the same time."""

import json
import os
import selectors
import signal
import subprocess
import time

import processes
from measure import Curves, Tool, say, steps

LIMITS = ("--memory", "16MiB", "--cpus", "0.01", "--data", "none")
WAYS = ("batch", "launchers")
IDLE = 4  # seconds in which nothing begins or ends
PATIENCE = 600  # seconds in which all begin, or all end
SLEEPER = ("sh", "-c", "exec 2>/dev/null; sleep 3600; exit 0")  # which ends well when its sleep is killed, and says nothing of it


class Crowd:
    """So many runs that sleep until they are woken, whose launchers tell of them by a pipe each: one line may be longer than
    what is written to a pipe of many at once (PIPE_BUF, pipe(7))."""

    def __init__(self, tool, count, scratch):
        self.tool, self.count = tool, count
        self.lines = scratch / "crowd.jsonl"
        self.pipes = selectors.DefaultSelector()

    def batch(self):
        self.lines.write_text((json.dumps({"command": SLEEPER}) + "\n") * self.count)
        words = ("batch", "--quiet", "--jobs", str(self.count), "--docs", "none", *LIMITS, *self.tool.more)
        return [self.start(lambda events: self.tool.command(*words, *events, str(self.lines)))]

    def launchers(self):
        return [self.start(lambda events: self.tool.run(*LIMITS, *events, "--", *SLEEPER)) for _ in range(self.count)]

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
        seen, deadline = 0, time.time() + PATIENCE
        while seen < self.count:
            for line in self.told(deadline - time.time()):
                event = json.loads(line)
                if event["type"] in none:
                    raise SystemExit(f"bench-growth: a run ended before all had begun: {line.decode()}")
                seen += event["type"] == kind
            if seen < self.count and time.time() > deadline:
                raise SystemExit(f"bench-growth: {seen} of {self.count} runs have told of {kind} after {PATIENCE} s")
        return time.time()

    def told(self, patience):
        """The lines that have come, of which there may be none."""
        if not self.pipes.get_map():
            raise SystemExit("bench-growth: all launchers have ended early")
        for key, _ in self.pipes.select(max(0, patience)):
            came = os.read(key.fd, 1 << 16)
            if not came:
                self.pipes.unregister(key.fd)
                os.close(key.fd)
            key.data.extend(came)
            *lines, rest = key.data.split(b"\n")
            key.data[:] = rest
            yield from lines

    def wake(self):
        for process in self.asleep():
            os.kill(process.pid, signal.SIGTERM)

    def asleep(self):
        """The sleeps of all, once they are there: little processor time is what a run has for its start."""
        deadline = time.time() + PATIENCE
        while time.time() < deadline:
            sleeps = [p for p in processes.below() if p.name == "sleep"]
            if len(sleeps) == self.count:
                return sleeps
            time.sleep(0.1)
        raise SystemExit(f"bench-growth: {len(sleeps)} of {self.count} runs sleep after {PATIENCE} s")

    def close(self):
        for key in list(self.pipes.get_map().values()):
            os.close(key.fd)
        self.pipes.close()


def measure(bench):
    drawn = [f"{way}: {what}" for way in WAYS for what in ("from the start to all running, each", "CPU until all run, each", "CPU but for the sleep, each")]
    curves = Curves("Cost of a run against how many there are at once", "runs at once", drawn)
    processes.adopt()
    sizes = [n for n in (1, 5, 20, 100, 200, 500) if n <= (bench.to or 500)]
    for number in range(max(1, bench.rounds // 2)):
        for size in sizes if number == 0 else (n for n in sizes if n <= 100):  # the others take minutes
            for way in WAYS:
                say(f"concurrent: round {number + 1}, {size} in {way}")
                tool = Tool(bench.tool, bench.scratch / f"crowd-{way}", bench.more)
                crowd = Crowd(tool, size, bench.scratch)
                try:
                    one(curves, crowd, way)
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
        crowd.asleep()
        slept, cpu = time.time(), processes.cpu()
        time.sleep(IDLE)
        idle = (processes.cpu() - cpu) / IDLE
        memory = sum(p.pss() for p in processes.below() if p.name not in ("sh", "sleep"))
        crowd.wake()
        slept = time.time() - slept
        crowd.wait_for("run.finished")
    except SystemExit:
        for child in children:
            child.terminate()
        for child in children:
            child.wait()
        raise
    whole = sum(waited(child) for child in children)
    curves.add(f"{way}: from the start to all running, each", count, (running - begin) / count)
    curves.add(f"{way}: CPU until all run, each", count, cpu / count)
    curves.add(f"{way}: CPU but for the sleep, each", count, max(0, whole - idle * slept) / count)
    curves.add(f"{way}: CPU while it sleeps, each", count, idle / count, "cores")
    curves.add(f"{way}: memory, each", count, memory / count, "bytes")


def waited(child):
    """Wait for a child that must end well, and return the CPU seconds of it and all below it."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"bench-growth: a run ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime
