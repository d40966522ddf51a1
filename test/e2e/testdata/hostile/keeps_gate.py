"""Leaves a process with both descriptors."""
import os
import time

from ahead_hostile import AHEAD

if AHEAD and os.fork() == 0:
    os.setsid()
    time.sleep(1000)
    os._exit(0)
