"""Leaves links: symbolic ones that lead out, and second names of files. The argument is a file of the host."""

import errno
import os
import sys

secret = sys.argv[1]


def file(path, content):
    with open(path, "w") as f:
        f.write(content)


def refused(number, call, *args):
    try:
        call(*args)
    except OSError as problem:
        assert problem.errno == number, problem
    else:
        raise AssertionError(f"{call} {args} was not refused")


os.symlink(secret, "absolute")
os.symlink("../" * 12 + secret[1:], "relative")
os.symlink("/proc/1/root" + secret, "magic")
os.symlink("/proc/self/fd/0", "descriptor")
os.symlink("/proc/self/cwd", "circle")
os.symlink(os.path.dirname(secret), "out")  # what was read as out/NAME would be the host's
os.symlink("nowhere", "dangling")
os.symlink(b"to \xff\n\x1b[31m", "strange")
os.symlink("self", "self")
os.symlink("two", "one")
os.symlink("one", "two")
os.mkdir("d")
file("d/file", "in d")
os.symlink("d", "within")  # nothing is harvested a second time through it
os.symlink("..", "d/up")
os.symlink("../d/file", "d/sibling")

file("first", "two names")
os.link("first", "d/second")
file("excluded.tmp", "excluded")
os.link("excluded.tmp", "taken")
os.link("absolute", "absolute-too", follow_symlinks=False)  # a second name of the link, not of the file
os.mkfifo("pipe")
os.link("pipe", "pipe-too")
refused(errno.EXDEV, os.link, "/inputs/table", "input")
refused(errno.EXDEV, os.link, sys.executable, "program")

# One name is too deep to be harvested, so that the other may have been made by anybody.
os.makedirs("d/" * 300)
file("half", "one name in reach")
here = os.getcwd()
os.chdir("d/" * 300)
os.link(here + "/half", "below")
