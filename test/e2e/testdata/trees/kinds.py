"""Leaves what is no file, and files with the modes that nobody should have; says what was refused."""

import errno
import json
import os
import socket
import stat


def file(path, content):
    with open(path, "w") as f:
        f.write(content)


answers = {}


def attempt(what, call, *args):
    try:
        call(*args)
        answers[what] = "ok"
    except OSError as problem:
        answers[what] = errno.errorcode[problem.errno]


os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
attempt("character device", os.mknod, "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
attempt("block device", os.mknod, "disk", stat.S_IFBLK | 0o666, os.makedev(7, 0))
attempt("overlay whiteout", os.mknod, "whiteout", stat.S_IFCHR, 0)
file("program", "#!/bin/sh\n")
for name, mode in ("set-uid", 0o4755), ("set-gid", 0o2755), ("both", 0o6777):
    attempt(name, os.chmod, "program", mode)
attempt("made set-uid", os.open, "born", os.O_CREAT | os.O_WRONLY, 0o4755)
attempt("another's", os.chown, "program", os.getuid() + 1, -1)
attempt("nobody's", os.chown, "program", 65534, 65534)
os.mkdir("group")
attempt("set-gid directory", os.chmod, "group", 0o2777)
file("group/file", "in it")
os.chmod("program", 0o755)

file("mode-000", "no right")
os.chmod("mode-000", 0)
file("write-only", "to write")
os.chmod("write-only", 0o222)
os.makedirs("closed/deeper")
file("closed/file", "behind")
file("closed/deeper/file", "far behind")
os.chmod("closed/file", 0)
os.chmod("closed/deeper", 0)
os.chmod("closed", 0)
os.mkdir("unlisted")
file("unlisted/file", "known by name only")
os.chmod("unlisted", 0o111)
os.mkdir("frozen")
file("frozen/file", "stays")
os.chmod("frozen", 0o555)  # what is in it can be removed by who may change that
os.mkdir("sticky")
file("sticky/file", "sticks")
os.chmod("sticky", 0o1777)
os.mkdir("empty")
os.mkdir("empty-closed")
os.chmod("empty-closed", 0)
print(json.dumps(answers))
