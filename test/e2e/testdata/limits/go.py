"""What the programs of this directory have in common: each is given a file first, tells that it is ready when it
has written something worth keeping, and goes past a limit when that file has content."""

import os
import sys
import time

flag, *args = sys.argv[1:]


def ready():
    with open("before", "w") as f:
        f.write("written before\n")
    print("ready", flush=True)


def told():
    return os.stat(flag).st_size > 0


def wait():
    ready()
    while not told():
        time.sleep(0.05)
