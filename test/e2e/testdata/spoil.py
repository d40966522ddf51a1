"""Tries in every way to change the directory that is given: it holds kept, spare and the directory sub."""

import mmap
import os
import sys

from attempt import attempt, report

there = sys.argv[1]
kept, spare, sub = (os.path.join(there, name) for name in ("kept", "spare", "sub"))


def opened(flags, path=kept):
    os.close(os.open(path, flags, 0o666))


def again(flags):
    fd = os.open(kept, os.O_RDONLY)
    try:
        opened(flags, f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)


def shared_mapping():
    with open(kept, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapped:
        mapped[0] = 0x58


report({
    "write": attempt(opened, os.O_WRONLY),
    "append": attempt(opened, os.O_WRONLY | os.O_APPEND),
    "create": attempt(opened, os.O_WRONLY | os.O_CREAT, there + "/new"),
    "temporary file": attempt(opened, os.O_WRONLY | os.O_TMPFILE, there),
    "write again": attempt(again, os.O_RDWR),
    "shared mapping": attempt(shared_mapping),
    "truncate again": attempt(again, os.O_WRONLY | os.O_TRUNC),
    "truncate": attempt(os.truncate, kept, 0),
    "chmod": attempt(os.chmod, kept, 0o600),
    "utime": attempt(os.utime, kept, (0, 0)),
    "chown": attempt(os.chown, kept, os.getuid(), os.getgid()),
    "xattr": attempt(os.setxattr, kept, "user.scidex", b"x"),
    "mkdir": attempt(os.mkdir, there + "/dir"),
    "symlink": attempt(os.symlink, "kept", there + "/symlink"),
    "link": attempt(os.link, kept, there + "/link"),
    "fifo": attempt(os.mkfifo, there + "/fifo"),
    "rename": attempt(os.rename, spare, there + "/renamed"),
    "unlink": attempt(os.unlink, there + "/renamed" if os.path.exists(there + "/renamed") else spare),
    "rmdir": attempt(os.rmdir, sub),
})
