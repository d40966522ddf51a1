"""Forges the note and stops the process."""
import os
import signal

from ahead_hostile import AHEAD, forge

if AHEAD:
    forge()
    os.kill(os.getpid(), signal.SIGSTOP)
