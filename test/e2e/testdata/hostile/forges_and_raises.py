"""Forges the note, so that nobody waits for the true one, which says that the import failed."""
from ahead_hostile import AHEAD, forge

if AHEAD:
    forge()
    raise ValueError("raised")
