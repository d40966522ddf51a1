"""Tries to write everywhere: in every directory of the root filesystem and of what is mounted on it, and on
every file. What it finds is told on standard error. What is meant to be written, it passes over; /proc
is an attack of its own.

item: 6
inside EROFS: *
inside EACCES: write, append, truncate
"""

import collections
import os
import stat
import sys

from lib.attack import arena, attempt, report

root, passed_over = arena["root"], {*arena["scratch"], "/proc"}
found = collections.defaultdict(collections.Counter)


def note(name, path, action, *args):
    verdict = attempt(action, *args)
    found[name][verdict] += 1
    if verdict == "ok":
        print(name, path, file=sys.stderr)


def opened(path, flags):
    os.close(os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY, 0o666))


def renamed(path):
    away = path.rstrip("/") + arena["marker"]
    os.rename(path, away)
    os.rename(away, path)


def on(path, directory):
    """What does no harm if it succeeds."""
    note("rename", path, renamed, path)
    mode = os.lstat(path).st_mode
    if not stat.S_ISLNK(mode):
        note("chmod", path, os.chmod, path, stat.S_IMODE(mode))
    if directory:
        new = f"{path}/{arena['marker']}"
        note("create", path, opened, new, os.O_WRONLY | os.O_CREAT)
        note("create without a name", path, opened, path, os.O_WRONLY | os.O_TMPFILE)
        note("mkdir", path, os.mkdir, new + "-directory")
        note("symlink", path, os.symlink, "/", new + "-link")
        note("fifo", path, os.mkfifo, new + "-fifo")
    elif not stat.S_ISLNK(mode) and path not in arena["devices"]:
        note("write", path, opened, path, os.O_WRONLY)
        note("append", path, opened, path, os.O_WRONLY | os.O_APPEND)
        if stat.S_ISREG(mode):
            note("truncate", path, os.truncate, path, os.stat(path).st_size)


for top, directories, files in os.walk(root):
    directories[:] = [name for name in directories if os.path.join(top, name) not in passed_over]
    on(top, True)
    for name in files:
        on(os.path.join(top, name), False)

report({name: "ok" if verdicts["ok"] else verdicts.most_common(1)[0][0] for name, verdicts in found.items()})
