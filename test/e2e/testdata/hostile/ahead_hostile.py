"""What the modules here need: whether this start is one before its turn, and the descriptors of it."""

import os
import time

NOTE, GATE = 4, 5
with open("/proc/self/environ", "rb") as environment:
    AHEAD = b"SCIDEX_PRELOAD=" in environment.read()


def forge(text="ready\nforged 6.6.6\n"):
    os.write(NOTE, text.encode() + b"\0")


def early():
    """Writes into the working directory, and lives on."""
    with open("early", "a") as f:
        f.write("early\n")
    time.sleep(1000)


def leave_a_writer():
    """Leaves a process that nothing of this one ends, has none of its descriptors, and has written before this returns."""
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.closerange(0, 256)
        early()
    os.wait()
    while not (os.path.exists("early") and os.path.getsize("early")):
        time.sleep(0.001)
