"""Looks for a process outside by what /proc says of every process, and reads and writes what /proc gives
of it and of PID 1 of its own container. Outside both are a process of the caller.

item: 8
needs: victim
inside ENOENT: victim*, a process with the marker
inside init: init*
inside EROFS: init write*

Which descriptors PID 1 has, the single id of a caller without a range can list, not what they are.
"""

import os

from lib.attack import arena, attempt, report


def read(path):
    with open(path, "rb") as f:
        f.read(1)


def write(path):
    os.close(os.open(path, os.O_WRONLY))


def stack(pid):
    with open(f"/proc/{pid}/maps") as f:
        return next((int(line.split("-")[0], 16) for line in f if "[stack]" in line), 4096)


def memory(pid, mode):
    with open(f"/proc/{pid}/mem", mode, buffering=0) as f:
        f.seek(stack(pid))
        byte = f.read(1)
        if "+" in mode:
            f.seek(-1, os.SEEK_CUR)
            f.write(byte)


def arguments(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")
    except OSError:
        return []


def marked():
    """Our own arguments have the marker too, as part of what we were told."""
    others = [pid for pid in os.listdir("/proc") if pid.isdigit()]
    if not any(arena["marker"].encode() in arguments(pid) for pid in others):
        raise FileNotFoundError(2, "no process has the marker")


results = {"a process with the marker": attempt(marked)}
for who in "victim", "init":
    place, fd = f"/proc/{arena[who]}/", arena[who + "_fd"]
    for name in ("environ", "auxv", "maps", "smaps", "smaps_rollup", "numa_maps", "syscall", "io", "pagemap",
                 "personality", f"fdinfo/{fd}", "timers", "root/etc/passwd", "cwd/."):
        results[f"{who} read {name.replace(str(fd), 'N')}"] = attempt(os.listdir if name.endswith(".") else read, place + name)
    for name in "fd", "map_files", "task", "cwd", "root", "fdinfo":
        results[f"{who} list {name}"] = attempt(os.listdir, place + name)
    for name in "exe", "cwd", "root", f"fd/{fd}", "ns/mnt", "ns/pid", "ns/net", "ns/user":
        results[f"{who} follow {name.replace(str(fd), 'N')}"] = attempt(os.readlink, place + name)
    for name in "mem", "clear_refs", "comm", "oom_score_adj", "coredump_filter", "autogroup", "timerslack_ns":
        results[f"{who} write {name}"] = attempt(write, place + name)
    results[f"{who} write what it was started with"] = attempt(write, f"{place}fd/{fd}")
    results[f"{who} read memory"] = attempt(memory, arena[who], "rb")
    results[f"{who} write memory"] = attempt(memory, arena[who], "r+b")
for name in "task", "fd", "fdinfo":
    results.pop("init list " + name)
report(results)
