"""Closes all descriptors that it does not know, as programs do that become daemons."""
import os

from ahead_hostile import AHEAD

if AHEAD:
    os.closerange(3, 256)
