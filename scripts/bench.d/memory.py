#!/usr/bin/env python3
"""memory.py PID COUNT: waits until the launcher PID has COUNT analyses, and prints what all of it takes, in bytes.

Counted are the launcher and what descends from it but the analyses: the supervisor and each init. A process counts with
its proportional set size, so that a page of the program's file which two of them have counts once. Files in memory
(memfd, tmpfs) that one of these was executed from or holds count once and whole, however much of them is mapped.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

INIT = "scidex-init"
PATIENCE = 60  # seconds


def children(pid):
    """Return what the threads of a process have started; those that have just ended have nothing."""
    found = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, thread.read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def name(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()


def ours(pid):
    """Yield the process and what descends from it, without what an init has started."""
    try:
        own = name(pid)
    except (FileNotFoundError, ProcessLookupError):
        return  # it has just ended, like newuidmap
    yield pid
    if own != INIT:
        for child in children(pid):
            yield from ours(child)


def analyses(pid):
    """Count the inits that have started something."""
    return sum(1 for p in ours(pid) if name(p) == INIT and children(p))


def rollup(text):
    """Return Pss without what is in shared memory, in bytes."""
    kib = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines() if line.endswith("kB")}
    return 1024 * (kib["Pss"] - kib["Pss_Shmem"])


def in_memory(path):
    kind = subprocess.run(["stat", "-f", "-L", "-c", "%T", path], check=True, capture_output=True, text=True).stdout.strip()
    return kind in ("tmpfs", "ramfs")


def memfds(pid):
    """Yield the descriptors of files in memory. What a process holds that cannot be traced is only shown to root."""
    try:
        held = list(Path(f"/proc/{pid}/fd").iterdir())
    except PermissionError:
        held = []
    for fd in held:
        try:
            if os.readlink(fd).startswith("/memfd:"):
                yield fd
        except FileNotFoundError:
            pass  # closed meanwhile


def copies(pid):
    """Yield (file, allocated bytes) of the files in memory that the process was executed from or holds."""
    for path in (Path(f"/proc/{pid}/exe"), *memfds(pid)):
        if in_memory(path):
            found = os.stat(path)
            yield (found.st_dev, found.st_ino), found.st_blocks * 512


def total(processes):
    processes = list(processes)
    mapped = sum(rollup(Path(f"/proc/{p}/smaps_rollup").read_text()) for p in processes)
    return mapped + sum(dict(c for p in processes for c in copies(p)).values())


def main(pid, count):
    begin = time.monotonic()
    while not Path(f"/proc/{pid}").exists() or analyses(pid) < count:
        if time.monotonic() - begin > PATIENCE:
            raise SystemExit(f"memory.py: there are no {count} analyses")
        time.sleep(0.1)
    time.sleep(2)  # what only the start needs is given back
    print(total(ours(pid)))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
