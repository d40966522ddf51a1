"""Kills the process that has started it, and all others."""
import os
import signal

from ahead_hostile import AHEAD

if AHEAD:
    os.kill(os.getppid(), signal.SIGSTOP)
    os.kill(os.getppid(), signal.SIGKILL)
