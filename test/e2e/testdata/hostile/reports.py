"""Tells the supervisor in the name of PID 1 that the analysis has ended well (report.h). Inside, 3 is the end of a pipe that only reads."""
import os
import struct

from ahead_hostile import AHEAD

if AHEAD:
    for report in (3, "/proc/1/fd/3"):
        try:
            os.write(report if report == 3 else os.open(report, os.O_WRONLY), struct.pack("Iiq", 3, 0, 0))
        except OSError:
            pass
