"""Ends, and leaves the pipe of the note to a process that says nothing."""
import os
import time

from ahead_hostile import AHEAD

if AHEAD:
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(1000)
