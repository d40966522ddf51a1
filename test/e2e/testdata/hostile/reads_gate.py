"""Takes the byte that lets the script begin."""
import os

from ahead_hostile import AHEAD, GATE, forge

if AHEAD:
    forge()
    os.read(GATE, 1)
