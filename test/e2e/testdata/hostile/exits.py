"""Ends the interpreter as a script does."""
import sys

from ahead_hostile import AHEAD

if AHEAD:
    sys.exit(0)
