"""Leaves processes that would change the tree when they are read: a writer, a swapper, and a swapper that is
stopped and knows what to do when it goes on. It says their process ids. The argument is where the lures lead; with
another one it stays too."""

import ctypes
import os
import signal
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def exchange(one, other):
    if libc.renameat2(AT_FDCWD, one.encode(), AT_FDCWD, other.encode(), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


top = os.getcwd()


def file(path, content):
    with open(path, "w") as f:
        f.write(content)


def pair(bait):
    os.mkdir(bait)
    file(bait + "/file", "harmless")
    os.symlink(sys.argv[1], bait + "-lure")


def child(work):
    """Starts a process that nobody of ours waits for, which has lost its parent and its session."""
    if os.fork() == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            work()
        os._exit(0)
    os.wait()


def stopped():
    for name in sorted(os.listdir(top + "/stopped")):
        os.open(top + "/stopped/" + name, os.O_RDONLY)  # and holds them
    file(top + "/ready-stopped", str(os.getpid()))
    os.kill(os.getpid(), signal.SIGSTOP)
    exchange(top + "/stopped", top + "/stopped-lure")
    file(top + "/went-on", "")


def swapping():
    exchange(top + "/swapped", top + "/swapped-lure")
    file(top + "/ready-swapping", str(os.getpid()))
    while True:
        exchange(top + "/swapped", top + "/swapped-lure")


def writing():
    ready = False
    with open(top + "/log", "ab", buffering=0) as f:
        while True:
            f.write(b"0123456789abcde\n")
            if f.tell() >= 64 << 20:
                f.truncate(0)
            if not ready:
                file(top + "/ready-writing", str(os.getpid()))
                ready = True


pair("stopped")
pair("swapped")
for work in stopped, swapping, writing:
    child(work)
pids = []
for name in "stopped", "swapping", "writing":
    while not os.path.exists("ready-" + name) or not open("ready-" + name).read():
        time.sleep(0.01)
    pids.append(open("ready-" + name).read())
    os.remove("ready-" + name)
while open(f"/proc/{pids[0]}/stat").read().rsplit(")")[1].split()[0] != "T":
    time.sleep(0.01)
os.write(1, (" ".join(pids) + "\n").encode())  # each in one piece: the two may come on one stream
os.write(2, b"ready\n")
if len(sys.argv) > 2:  # to be ended
    time.sleep(1000000)
