"""What one process can leave for another to find, or feel of what another does."""

import json
import os
import sys
import zlib

at = json.loads(sys.argv[1])
marker = at["marker"]
key = zlib.crc32(marker.encode()) & 0x7FFFFFFF or 1  # of System V IPC
told = {}  # what the owner says of itself to who seeks


class Road:
    """leave and felt are the owner's, find the seeker's. What is not found or felt is an OSError."""

    acts = False  # find works for everyone: whether it met the owner, only that one can tell

    def __init__(self, name):
        self.name = name

    def leave(self):
        """Makes what is to be found; its failure is the owner's."""

    def find(self):
        """Finds it, or does what the owner can feel."""

    def felt(self):
        """What the owner feels of find."""

    def remove(self):
        """Removes what would outlive the owner."""


def absent(what):
    return FileNotFoundError(2, "nothing there: " + what)


def demand(found, what):
    if not found:
        raise absent(what)


def others():
    """Directories in /proc of all processes but this one. One that is ours and one that we have started would
    be found always."""
    return [f"/proc/{pid}" for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]


def read(path):
    """What can be read of a file of /proc, or nothing."""
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""
