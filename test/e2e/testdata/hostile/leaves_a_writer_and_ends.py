"""Leaves a process that writes into the working directory, and ends."""
import os

from ahead_hostile import AHEAD, leave_a_writer

if AHEAD:
    leave_a_writer()
    os._exit(0)
