"""Writes a note without an end, which begins like a good one."""
import os

from ahead_hostile import AHEAD, NOTE

if AHEAD:
    os.write(NOTE, b"ready\nforged 6.6.6\n")
    for _ in range(100):
        os.write(NOTE, b"?\n" * (1 << 15))
