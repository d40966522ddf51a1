"""Forges the note and never returns."""
import time

from ahead_hostile import AHEAD, forge

if AHEAD:
    forge()
    time.sleep(1000)
