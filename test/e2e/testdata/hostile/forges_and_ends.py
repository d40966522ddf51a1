"""Forges the note and ends before the turn of the script comes."""
import os

from ahead_hostile import AHEAD, forge

if AHEAD:
    forge()
    os._exit(3)
