"""Forges the note, with what no terminal should get."""
from ahead_hostile import AHEAD, forge

if AHEAD:
    forge("ready\nforged 6.6.6\n\x1b[2J 1\n")
