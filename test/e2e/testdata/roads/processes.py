"""Signals, priorities and terminals."""

import glob
import os
import pty
import signal

from .road import Road, absent, at, demand, marker, read, told

TEXT = marker.encode()


class Signal(Road):
    """To the owner by its number on the host, told by whoever can know it."""

    number = signal.SIGUSR1

    def leave(self):
        self.heard = []
        signal.signal(self.number, lambda number, _: self.heard.append(number))
        told["pid"] = os.getpid()

    def find(self):
        for pid in at["pids"] or [at["told"]["pid"]]:
            os.kill(pid, self.number)

    def felt(self):
        demand(self.heard, "a signal")


class SignalToAll(Signal):
    """kill(-1) to all that may be signalled. As root, outside, that would be the whole host."""

    number = signal.SIGUSR2

    def find(self):
        if marker.encode() not in read("/proc/1/cmdline"):
            raise SystemExit("PID 1 is not ours: there is no wall around this process")
        os.kill(-1, self.number)


class Descriptor(Road):
    """By pidfd, which also sees a process whose number is taken by another here."""

    def find(self):
        for pid in at["pids"] or [at["told"]["pid"]]:
            os.close(os.pidfd_open(pid))


class Priority(Road):
    """Lowers that of all processes of the user."""

    acts = True

    def leave(self):
        self.before = os.getpriority(os.PRIO_PROCESS, 0)

    def find(self):
        os.setpriority(os.PRIO_USER, 0, 15)

    def felt(self):
        demand(os.getpriority(os.PRIO_PROCESS, 0) != self.before, "another priority")


class Terminal(Road):
    def leave(self):
        self.master, slave = pty.openpty()
        told["terminal"] = os.ttyname(slave)
        os.set_blocking(self.master, False)

    def find(self):
        """Inside every terminal is tried; outside they are other people's."""
        terminals = glob.glob("/dev/pts/[0-9]*") if at["pids"] else [at["told"]["terminal"]]
        if not terminals:
            raise absent("a terminal")
        for path in terminals:
            fd = os.open(path, os.O_WRONLY | os.O_NOCTTY)
            os.write(fd, TEXT)
            os.close(fd)

    def felt(self):
        demand(TEXT in os.read(self.master, 4096), "text")


roads = [
    Signal("signal"),
    SignalToAll("signal to all"),
    Descriptor("descriptor of a process"),
    Priority("priority of the user"),
    Terminal("terminal"),
]
