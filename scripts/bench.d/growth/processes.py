"""What the processes below this one have used and hold."""

import ctypes
import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


def adopt():
    """Keep processes whose parent dies below this one."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


class Process:
    def __init__(self, pid):
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition(" (")[2].rpartition(") ")
        fields = rest.split()
        self.pid, self.name, self.parent = pid, name, int(fields[1])
        # Its own time and that of all it has waited for: utime, stime, cutime, cstime.
        self.cpu = sum(map(int, fields[11:15])) / TICKS

    def pss(self):
        """Bytes of its own, with its share of what it shares."""
        try:
            lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines()
        except ProcessLookupError:
            return 0
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def below():
    """The processes that descend from this one."""
    all_of_them = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            all_of_them[pid] = Process(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [p for p in all_of_them.values() if p.pid != os.getpid() and descends(p, all_of_them)]


def descends(process, known):
    while process is not None and process.parent != os.getpid():
        process = known.get(process.parent)
    return process is not None


def cpu():
    """CPU seconds of all that is below and all that has ended below and was waited for there."""
    return sum(p.cpu for p in below())
