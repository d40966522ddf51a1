"""Has a file of its own where the pipe of the note was."""
import os

from ahead_hostile import AHEAD, NOTE

if AHEAD:
    os.dup2(os.open("own", os.O_WRONLY | os.O_CREAT, 0o644), NOTE)
