"""Forges the note, so that the true one is not waited for, which says that the import failed."""
from ahead_hostile import AHEAD, forge

if AHEAD:
    forge()
    raise ValueError("raised")
