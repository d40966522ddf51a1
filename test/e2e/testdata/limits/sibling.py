"""Does what every analysis does, over and over, until it is told to end: starts a process, which takes memory, and
writes a file. It says so each time, and fails where one of them does."""

import os
import sys
import time

import go

go.ready()
turns = 0
while not go.told():
    pid = os.fork()
    if pid == 0:
        os._exit(len(b"x" * (1 << 20)) != 1 << 20)
    if os.waitpid(pid, 0)[1] != 0:
        sys.exit("a child did not end well")
    turns += 1
    with open("turns", "w") as f:
        f.write(f"{turns}\n")
    print("turn", flush=True)
    time.sleep(0.2)
print("all turns made", turns)
