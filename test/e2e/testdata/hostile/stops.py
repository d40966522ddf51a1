"""Stops the process."""
import os
import signal

from ahead_hostile import AHEAD

if AHEAD:
    os.kill(os.getpid(), signal.SIGSTOP)
