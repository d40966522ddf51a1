"""Overwrites a program through the process that runs it, as CVE-2019-5736 did with runc: by a descriptor of
/proc/PID/exe that is opened for writing when the process has ended. Inside the program is PID 1's, which
comes from the host; outside a plain copy of another.

item: 14
needs: program
inside EROFS: *
inside EACCES: after its end, while it starts, truncating it, by its name
inside EXDEV: by renaming over it
"""

import os
import subprocess
import time

from lib.attack import arena, attempt, report

program = arena["program"]


def start():
    """Descriptor 3 is where PID 1 reports to."""
    fd = os.open("/dev/null", os.O_WRONLY)
    if fd != 3:
        os.dup2(fd, 3)
    try:
        return subprocess.Popen(arena["command"], pass_fds=[3], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        for opened in {fd, 3}:
            os.close(opened)


def overwrite(path, flags=0):
    """As it was, so that it can be tried again."""
    fd = os.open(path, os.O_WRONLY | flags)
    try:
        os.write(fd, b"\x7fELF")
    finally:
        os.close(fd)


def after_its_end(pause=0.0, flags=0):
    process = start()
    try:
        time.sleep(pause)
        held = os.open(f"/proc/{process.pid}/exe", os.O_PATH)
    finally:
        process.kill()
        process.wait()
    try:
        overwrite(f"/proc/self/fd/{held}", flags)
    finally:
        os.close(held)


def while_it_starts():
    """Before a process can say that it is not to be looked into."""
    for _ in range(100):
        try:
            return after_its_end()
        except PermissionError:
            continue
    return after_its_end()


def by_renaming():
    with open("replacement", "wb") as f:
        f.write(b"#!/bin/false\n")
    os.rename("replacement", program)


found = {
    "after its end": attempt(after_its_end, 0.1),
    "while it starts": attempt(while_it_starts),
    "by its name": attempt(overwrite, program),
    "truncating it": attempt(after_its_end, 0.1, os.O_TRUNC),
    "by its mode": attempt(os.chmod, program, 0o777),
    "by removing it": attempt(os.unlink, program),
    "by renaming over it": attempt(by_renaming),
}
report(found)
