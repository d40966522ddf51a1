"""Attacks PID 1 of its container, then ends with 7. PID 1 reports how the analysis ended: a report that
is forged, or a PID 1 that is killed, would be a run that ended otherwise."""

import os
import signal
import struct
import subprocess
import sys

from attacks.lib.attempt import attempt, report

EXECUTED, REFUSED, ENDED = 1, 2, 3
FORGED = [struct.pack("=Ii", kind, value) for kind, value in ((EXECUTED, 0), (REFUSED, 2), (ENDED, 0))]


def write(path, flags=os.O_WRONLY):
    fd = os.open(path, flags | os.O_NONBLOCK)
    try:
        for record in FORGED:
            os.write(fd, record)
    finally:
        os.close(fd)


def read(path):
    with open(path, "rb") as f:
        f.read(1)


found = {}
friend = subprocess.Popen(["sleep", "1000"])  # who must survive what is done to PID 1
for name in "environ", "auxv", "maps", "smaps", "syscall", "stack", "io", "pagemap", "mem", "fdinfo/3":
    found["read " + name] = attempt(read, f"/proc/1/{name}")
for name in "fd", "map_files":
    found["list " + name] = attempt(os.listdir, f"/proc/1/{name}")
for name in "exe", "cwd", "root", "fd/3", "ns/mnt", "ns/pid":
    found["follow " + name] = attempt(os.readlink, f"/proc/1/{name}")
for name in "mem", "clear_refs", "uid_map", "setgroups", "attr/current", "exe", "root/etc/passwd":
    found["write " + name] = attempt(write, f"/proc/1/{name}")
for number in range(64):
    found[f"write fd/{number}"] = attempt(write, f"/proc/1/fd/{number}")
    found[f"write task fd/{number}"] = attempt(write, f"/proc/1/task/1/fd/{number}")
for number in range(3, 1024):  # what we may have inherited ourselves
    if attempt(os.write, number, FORGED[2]) == "ok":
        found[f"write to our own {number}"] = "ok"
for path in "/dev/scidex-init", "/proc/self/exe", f"/proc/{friend.pid}/exe", "/bin/sh", "/etc/passwd", "/etc/hosts":
    found["write " + path] = attempt(write, path)
    found["truncate " + path] = attempt(os.truncate, path, 0)
for path in "/dev/scidex-init", "/usr/bin/python3", "/etc/passwd", "/etc", "/usr", "/data", "/analysis", "/dev/null":
    found["remove " + path] = attempt(os.rename, path, "/work/away")
    found["chmod " + path] = attempt(os.chmod, path, 0o777)
for path in "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/user/max_user_namespaces", "/proc/kcore":
    found["write " + path] = attempt(write, path)
for path in "/evil", "/etc/evil", "/usr/evil", "/dev/evil", "/var/evil", "/run/evil", "/sys/evil", "/home/evil", "/inputs/evil":
    found["create " + path] = attempt(write, path, os.O_WRONLY | os.O_CREAT)

for number in range(1, signal.NSIG):  # among them SIGKILL and SIGSTOP; PID 1 ignores ours
    try:
        os.kill(1, number)
    except OSError as problem:
        found[f"signal {number}"] = str(problem)
friend.send_signal(0)
found["friend"] = "alive" if friend.poll() is None else "dead"
friend.kill()
report(found)
sys.exit(7)
