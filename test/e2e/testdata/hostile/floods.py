"""Writes a note without an end."""
import os

from ahead_hostile import AHEAD, NOTE

if AHEAD:
    for _ in range(100):
        os.write(NOTE, b"x" * (1 << 16))
