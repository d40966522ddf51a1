"""Closes the pipe of the note."""
import os

from ahead_hostile import AHEAD, NOTE

if AHEAD:
    os.close(NOTE)
