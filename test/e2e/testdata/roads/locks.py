"""Locks, leases and watches on files that both can read (flock(2), fcntl(2), inotify(7))."""

import ctypes
import errno
import fcntl
import os
import signal
import struct

from .road import Road, absent, at, demand

libc = ctypes.CDLL(None, use_errno=True)
F_OFD_GETLK, F_OFD_SETLK = 36, 37
IN_ACCESS, IN_OPEN = 0x1, 0x20
LOCK = "hhqqi4x"  # struct flock: type, whence, start, length, pid


class Locked(Road):
    def __init__(self, place, path):
        super().__init__(f"{self.kind} on {place}")
        self.path = path

    def leave(self):
        self.fd = os.open(self.path, os.O_RDONLY)
        self.lock()


class Flock(Locked):
    kind = "flock"

    def lock(self):
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def find(self):
        fd = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        finally:
            os.close(fd)
        raise absent("a lock")


class RecordLock(Locked):
    kind, get, set = "record lock", fcntl.F_GETLK, fcntl.F_SETLK

    def lock(self):
        fcntl.fcntl(self.fd, self.set, struct.pack(LOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))

    def find(self):
        """Asks whether a lock for writing could be had; a descriptor for reading is enough to ask."""
        fd = os.open(self.path, os.O_RDONLY)
        got = fcntl.fcntl(fd, self.get, struct.pack(LOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        os.close(fd)
        demand(struct.unpack(LOCK, got)[0] != fcntl.F_UNLCK, "a lock")


class DescriptorLock(RecordLock):
    kind, get, set = "descriptor's lock", F_OFD_GETLK, F_OFD_SETLK


class Lease(Locked):
    """Holds up who opens the file for writing, which here only the host can."""

    kind = "lease"

    def lock(self):
        signal.signal(signal.SIGIO, signal.SIG_IGN)  # which says that someone waits
        fcntl.fcntl(self.fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)

    def find(self):
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as problem:
            if problem.errno == errno.EWOULDBLOCK:
                return
            raise
        raise absent("a lease")


class Watch(Locked):
    """The owner watches the file, the seeker reads it."""

    kind, acts = "watch", True

    def lock(self):
        os.close(self.fd)
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        if libc.inotify_add_watch(self.fd, self.path.encode(), IN_ACCESS | IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")

    def find(self):
        with open(self.path, "rb") as f:
            f.read(1)

    def felt(self):
        demand(os.read(self.fd, 4096), "an event")


roads = [Lease(place, path) for place, path in at["leased"].items()]
roads += [kind(place, path) for place, path in at["places"].items() for kind in (Flock, RecordLock, DescriptorLock)]
roads += [Watch(place, path) for place, path in at["places"].items()]  # when the owner itself has opened them
