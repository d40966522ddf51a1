"""The line `memory`: what launcher, supervisor and init take while analyses sleep.

A process counts with its proportional set size, so that a page that two of them have counts once. Files in memory (memfd,
tmpfs) that one of them was executed from or holds count once and whole, however much of them is mapped.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from measure import MIB, Failed, Figure, Line
from start import ours

INIT = "scidex-init"
DEADLINE = 60  # seconds, until all analyses have started
FIGURES = (
    Figure("memory of one sleeping run", "one run", unit="MiB"),
    Figure("memory of each further one of a batch", "each further run", unit="MiB"),
)


def children(pid):
    """What the threads of a process have started."""
    found = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, thread.read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            pass  # the thread has just ended
    return found


def processes(pid):
    """Yield a process and its descendants with their names, but not what an init has started."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return  # it has just ended, like newuidmap
    yield pid, name
    if name != INIT:
        for child in children(pid):
            yield from processes(child)


def mapped(pid):
    """Pss without shared memory, in bytes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.endswith("kB")}
    return 1024 * (kib["Pss"] - kib["Pss_Shmem"])


def files_in_memory(pid):
    """Yield (file, allocated bytes). What a process holds that cannot be traced is only shown to root."""
    try:
        held = [fd for fd in Path(f"/proc/{pid}/fd").iterdir() if os.path.lexists(fd) and os.readlink(fd).startswith("/memfd:")]
    except PermissionError:
        held = []
    for path in (Path(f"/proc/{pid}/exe"), *held):
        kind = subprocess.run(["stat", "-f", "-L", "-c", "%T", path], check=True, capture_output=True, text=True).stdout.strip()
        if kind in ("tmpfs", "ramfs"):
            found = os.stat(path)
            yield (found.st_dev, found.st_ino), found.st_blocks * 512


def total(launcher):
    pids = [pid for pid, _ in processes(launcher)]
    files = dict(file for pid in pids for file in files_in_memory(pid))
    return sum(map(mapped, pids)) + sum(files.values())


def taken(command, count):
    """What our processes take, in MiB, once so many analyses sleep."""
    with tempfile.TemporaryFile() as said:
        launcher = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + DEADLINE
            while sum(name == INIT and bool(children(pid)) for pid, name in processes(launcher.pid)) < count:
                if launcher.poll() is not None or time.monotonic() > deadline:
                    said.seek(0)
                    raise Failed(f"{count} analyses did not start: {said.read().decode(errors='replace')[-300:]}")
                time.sleep(0.1)
            time.sleep(2)  # until what only the start needs is given back
            return total(launcher.pid) / MIB
        finally:
            launcher.terminate()
            launcher.wait()


def measure(bench, samples):
    lines = bench.scratch / "sleepers.jsonl"

    def batch(tool, count):
        lines.write_text((json.dumps({"command": ["sleep", "600"]}) + "\n") * count)
        return taken([*tool, "batch", "--quiet", "--jobs", str(count), "--memory", "64MiB", *bench.request, str(lines)], count)

    ways = {}
    for way, tool in ours(bench, "one run").items():
        ways[way] = lambda tool=tool: taken([*tool, "run", "-q", *bench.request, "--", "sleep", "600"], 1)
    for way, tool in ours(bench, "each further run").items():
        ways[way] = lambda tool=tool: (batch(tool, 10) - batch(tool, 1)) / 9
    samples.turns(bench.rounds(5), ways)


LINE = Line(FIGURES, measure)
