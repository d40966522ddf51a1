"""Starts as many processes, or threads, as it may have, at most as many as it is told, says how many it got, and
ends with 1 where it was kept from more."""

import os
import signal
import sys
import threading

import go


def processes(most):
    pids = []
    try:
        while len(pids) < most:
            pid = os.fork()
            if pid == 0:
                while True:
                    signal.pause()
            pids.append(pid)
    except BlockingIOError:
        pass
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return len(pids)


def threads(most):
    threading.stack_size(256 << 10)  # under an rlimit stacks count as memory
    end, count = threading.Event(), 0
    try:
        while count < most:
            threading.Thread(target=end.wait, daemon=True).start()
            count += 1
    except RuntimeError:
        pass
    end.set()
    return count


def bomb(_):
    """Whoever is started starts others, for ever."""
    while True:
        try:
            os.fork()
        except BlockingIOError:
            pass


kind, most = go.args
go.wait()
got = {"processes": processes, "threads": threads, "bomb": bomb}[kind](int(most))
print(got, flush=True)
sys.exit(got < int(most))
