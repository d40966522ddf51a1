"""Leaves a process that writes into the working directory, and goes on."""
from ahead_hostile import AHEAD, leave_a_writer

if AHEAD:
    leave_a_writer()
