"""scidex-oci on the server: commands, and workers."""

import json
import os
import signal
import subprocess
import time

ANALYSIS = ("--docs", "none", "--data", "none", "--label", "k=v")
GOOD = ("sh", "-c", "echo made by a run > result.txt")
BAD = ("sh", "-c", "echo made by a run > result.txt; exit 1")


def limits(path, scratch):
    """An ordinary user without a control group cannot enforce limits."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("SCIDEX_OCI_")}
    probe = subprocess.run([path, "--root", str(scratch / "probe"), "run", "--quiet", *ANALYSIS, "--", "true"], stdout=subprocess.DEVNULL, env=env)
    return [] if probe.returncode == 0 else ["--limits", "best-effort"]


class Tool:
    def __init__(self, path, scratch, server):
        self.path, self.scratch = path, scratch
        self.env = {**os.environ, "SCIDEX_OCI_DB": server.url}
        self.more = limits(path, scratch)

    def words(self, root, *words):
        return [self.path, "--root", str(self.scratch / root), *words]

    def take(self, *words, text=None):
        """Run a command to its end and return what it printed."""
        done = subprocess.run(self.words("clients", *words), env=self.env, input=text, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(f"bench-scale: {words} ended with {done.returncode}")
        return done.stdout

    def submit(self, command=GOOD):
        return self.take("submit", *ANALYSIS, *self.more, "--", *command).split()[0]

    def submit_batch(self, name, count):
        """Submit so many at once."""
        lines = "".join(json.dumps({"id": f"{name}-{n}", "command": list(GOOD), "docs": "none", "data": "none"}) + "\n" for n in range(count))
        self.take("submit", *self.more, "--batch", "-", text=lines)

    def timed(self, *words):
        """Seconds and CPU seconds of a command."""
        before, begin = os.times(), time.monotonic()
        self.take(*words)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return time.monotonic() - begin, cpu


class Worker:
    def __init__(self, tool, name, jobs=2):
        words = tool.words(name, "worker", "--json", "--jobs", str(jobs), "--total-memory", f"{jobs * 2}GiB", "--total-cpus", str(jobs), *tool.more)
        self.process = subprocess.Popen(words, env=tool.env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def ended(self, number):
        """Wait until so many more analyses have ended here."""
        for _ in range(number):
            if not self.process.stdout.readline():
                raise SystemExit(f"bench-scale: the worker ended with {self.process.wait()}")

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stdout.read()
        self.process.wait()
