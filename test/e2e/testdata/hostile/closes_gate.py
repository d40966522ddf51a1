"""Closes the pipe of the gate."""
import os

from ahead_hostile import AHEAD, GATE

if AHEAD:
    os.close(GATE)
